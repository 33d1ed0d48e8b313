// Kept for includes from before base/simd.hpp.
#pragma once

#include "base/simd.hpp"
