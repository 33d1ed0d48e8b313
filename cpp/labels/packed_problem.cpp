#include "labels/problem.hpp"

namespace planaris::labels {

namespace {

// Writes lists one after the other, each behind its length.
struct Packing {
  PackedProblem& out;

  void write(const std::vector<int32_t>& list) {
    out.integers.push_back(static_cast<int32_t>(list.size()));
    out.integers.insert(out.integers.end(), list.begin(), list.end());
  }
  void write(const std::vector<double>& list) {
    out.integers.push_back(static_cast<int32_t>(list.size()));
    out.reals.insert(out.reals.end(), list.begin(), list.end());
  }
};

// Reads them in the same order.
struct Unpacking {
  const int32_t* integer;
  const double* real;

  void read(std::vector<int32_t>& list) {
    const int32_t size = *integer++;
    list.assign(integer, integer + size);
    integer += size;
  }
  void read(std::vector<double>& list) {
    const int32_t size = *integer++;
    list.assign(real, real + size);
    real += size;
  }
};

}  // namespace

int64_t PackedProblem::bytes() const {
  return 256 +
         static_cast<int64_t>(integers.size() * sizeof(int32_t) + reals.size() * sizeof(double));
}

PackedProblem Problem::pack() const {
  PackedProblem out;
  size_t num_integers = 8 + 3 * variable.size() + 6 * edges.size(),
         num_reals = 3 + error.size() + edges.size();
  for (const auto& list : label) num_integers += list.size();
  for (const auto& list : incident) num_integers += list.size();
  for (const auto& list : energy) num_reals += list.size();
  for (const Edge& edge : edges) {
    num_reals +=
        edge.table.size() + edge.turned.size() + edge.message[0].size() + edge.message[1].size();
  }
  out.integers.reserve(num_integers);
  out.reals.reserve(num_reals);
  out.work = work;
  out.tape = tape;
  out.integers.assign({num_inputs, static_cast<int32_t>(edges.size())});
  out.reals.assign({base, base_low, charge});
  Packing packing{out};
  packing.write(variable);
  packing.write(error);
  for (int32_t i = 0; i < size(); ++i) {
    packing.write(label[i]);
    packing.write(energy[i]);
    packing.write(incident[i]);
  }
  for (const Edge& edge : edges) {
    out.integers.insert(out.integers.end(), {edge.ends[0], edge.ends[1]});
    for (const auto* list : {&edge.table, &edge.turned, &edge.message[0], &edge.message[1]})
      packing.write(*list);
    out.reals.push_back(edge.error);
  }
  return out;
}

Problem::Problem(const PackedProblem& packed) : work(packed.work), tape(packed.tape) {
  Unpacking unpacking{packed.integers.data() + 2, packed.reals.data() + 3};
  num_inputs = packed.integers[0];
  edges.resize(packed.integers[1]);
  base = packed.reals[0], base_low = packed.reals[1], charge = packed.reals[2];
  unpacking.read(variable);
  unpacking.read(error);
  label.resize(size()), energy.resize(size()), incident.resize(size());
  for (int32_t i = 0; i < size(); ++i) {
    unpacking.read(label[i]);
    unpacking.read(energy[i]);
    unpacking.read(incident[i]);
  }
  for (Edge& edge : edges) {
    edge.ends[0] = *unpacking.integer++, edge.ends[1] = *unpacking.integer++;
    for (auto* list : {&edge.table, &edge.turned, &edge.message[0], &edge.message[1]})
      unpacking.read(*list);
    edge.error = *unpacking.real++;
  }
  gone_.assign(size(), 0);
  edge_gone_.assign(edges.size(), 0);
}

}  // namespace planaris::labels
