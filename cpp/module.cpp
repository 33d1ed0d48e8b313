#include <nanobind/nanobind.h>

#include "base/control.hpp"
#include "base/simd.hpp"
#include "base/table_too_large.hpp"

namespace nb = nanobind;

namespace planaris::bindings {
void bind_attractive_windows(nb::module_& m);
void bind_colouring(nb::module_& m);
void bind_coupling_from_the_past(nb::module_& m);
void bind_cuts(nb::module_& m);
void bind_decoding(nb::module_& m);
void bind_elimination(nb::module_& m);
void bind_embedding(nb::module_& m);
void bind_enclosure(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_frontier(nb::module_& m);
void bind_heaviest_forest(nb::module_& m);
void bind_homology(nb::module_& m);
void bind_short_faces(nb::module_& m);
void bind_matching(nb::module_& m);
void bind_label_search(nb::module_& m);
void bind_max_flow(nb::module_& m);
void bind_model_batch(nb::module_& m);
void bind_mplp(nb::module_& m);
void bind_pfaffian(nb::module_& m);
void bind_piece_bounds(nb::module_& m);
void bind_planarity(nb::module_& m);
void bind_sparse_cholesky(nb::module_& m);
void bind_spins(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_text(nb::module_& m);
void bind_torus_classes(nb::module_& m);
void bind_tree_reweighted(nb::module_& m);
}  // namespace planaris::bindings

NB_MODULE(_core, m) {
#ifdef NDEBUG
  nb::set_leak_warnings(false);  // what is alive when Python ends is nothing to tell users
#endif
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const planaris::DeadlinePassed& error) {
      PyErr_SetString(PyExc_TimeoutError, error.what());
    } catch (const planaris::TableTooLarge& error) {
      PyErr_SetString(PyExc_OverflowError, error.what());
    } catch (const std::range_error& error) {
      PyErr_SetString(PyExc_FloatingPointError, error.what());
    }
  });
  m.doc() = "Compiled kernels of planaris: arrays in, arrays out.";
  m.def("plain_kernels", &planaris::plain_kernels,
        "Whether the environment asks for kernels without vector instructions.");
  planaris::bindings::bind_attractive_windows(m);
  planaris::bindings::bind_colouring(m);
  planaris::bindings::bind_coupling_from_the_past(m);
  planaris::bindings::bind_cuts(m);
  planaris::bindings::bind_decoding(m);
  planaris::bindings::bind_elimination(m);
  planaris::bindings::bind_embedding(m);
  planaris::bindings::bind_forest(m);
  planaris::bindings::bind_frontier(m);
  planaris::bindings::bind_heaviest_forest(m);
  planaris::bindings::bind_homology(m);
  planaris::bindings::bind_short_faces(m);
  planaris::bindings::bind_matching(m);
  planaris::bindings::bind_label_search(m);
  planaris::bindings::bind_max_flow(m);
  planaris::bindings::bind_mplp(m);
  planaris::bindings::bind_pfaffian(m);
  planaris::bindings::bind_piece_bounds(m);
  planaris::bindings::bind_model_batch(m);
  planaris::bindings::bind_enclosure(m);
  planaris::bindings::bind_planarity(m);
  planaris::bindings::bind_sparse_cholesky(m);
  planaris::bindings::bind_spins(m);
  planaris::bindings::bind_tensor(m);
  planaris::bindings::bind_text(m);
  planaris::bindings::bind_torus_classes(m);
  planaris::bindings::bind_tree_reweighted(m);
}
