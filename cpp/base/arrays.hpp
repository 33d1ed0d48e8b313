// What every binding shares: array types, ownership of results, interrupts.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/control.hpp"

namespace nb = nanobind;

namespace planaris::bindings {

template <typename T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out1 = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <typename T>
using Out2 = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

// Hands a vector to NumPy without copying.
template <typename T, class Memory>
Out1<T> to_numpy(std::vector<T, Memory>&& values) {
  using Vector = std::vector<T, Memory>;
  auto* owned = new Vector(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Vector*>(p); });
  return Out1<T>(owned->data(), {owned->size()}, owner);
}

template <typename T>
Out2<T> to_numpy(std::vector<T>&& values, size_t rows, size_t columns) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out2<T>(owned->data(), {rows, columns}, owner);
}

// Getters of read-only properties: a vector of a bound struct, as an array that shares its memory
// and keeps the struct alive; the second one in rows of two.
template <class Struct, typename T, class Memory>
auto array_of(std::vector<T, Memory> Struct::* member) {
  return [member](nb::handle_t<Struct> self) {
    auto& values = nb::cast<Struct&>(self).*member;
    return Out1<T>(values.data(), {values.size()}, self);
  };
}

template <class Struct, typename T, class Memory>
auto pairs_of(std::vector<T, Memory> Struct::* member) {
  return [member](nb::handle_t<Struct> self) {
    auto& values = nb::cast<Struct&>(self).*member;
    return Out2<T>(values.data(), {values.size() / 2, 2}, self);
  };
}

// The memory of an array, as kernels take it.
template <typename T>
std::span<const T> flat(const In1<T>& array) {
  return {array.data(), array.size()};
}
template <typename T>
std::span<const T> flat(const In2<T>& array) {
  return {array.data(), array.size()};
}

using Progress = std::optional<nb::typed<nb::callable, void(double)>>;

// A Control that raises KeyboardInterrupt, or what `progress` raised, out of the kernel;
// TimeoutError counts as a deadline. Optional attributes of `progress`: `stride` and `interval`,
// how often it is called; `extend`, called when what remains is to be finished. Build it while
// holding the GIL.
inline Control make_control(const Progress& progress,
                            double seconds = std::numeric_limits<double>::infinity(),
                            int threads = 1) {
  Pace pace;
  if (progress) {
    pace.stride = nb::cast<int>(nb::getattr(*progress, "stride", nb::int_(pace.stride)));
    pace.interval = nb::cast<double>(nb::getattr(*progress, "interval", nb::float_(pace.interval)));
  }
  Control control(
      [progress](double fraction) {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        try {
          if (progress) (*progress)(fraction);
        } catch (const nb::python_error& error) {
          if (error.matches(PyExc_TimeoutError)) throw DeadlinePassed();
          throw;
        }
        return true;
      },
      seconds, pace);
  control.set_signals([] {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return true;
  });
  if (progress && nb::hasattr(*progress, "extend")) {
    control.set_extend([progress] {
      nb::gil_scoped_acquire gil;
      progress->attr("extend")();
    });
  }
  control.set_threads(threads);
  return control;
}

}  // namespace planaris::bindings
