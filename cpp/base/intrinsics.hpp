// What base/each_instruction_set.inl needs, to be included before it and outside of namespaces: the
// intrinsics of all instruction sets, which take the compiler a second to read.
#pragma once

#include "base/simd.hpp"

#ifdef PLANARIS_X86
#include <immintrin.h>
#endif
