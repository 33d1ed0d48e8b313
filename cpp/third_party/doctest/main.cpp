// Version 2.4.9 of doctest, as Debian packages it; only this file compiles its implementation.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "third_party/doctest/doctest.h"
