#include "tensor/enclosure.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/constants.hpp"
#include "tensor/dense.hpp"
#include "tensor/rounding.hpp"

namespace planaris::tensor {

namespace {

constexpr double kWide = 0.02;  // relative width of a denominator from which ends are bounded apart
constexpr double kUnsafe = 0.3;     // width of a box from which denominators are in danger
constexpr int kPatience = 16;       // how many times more words are tried for them
constexpr double kWidest = 1e9;     // width of a box that some vector of the other side may not see
constexpr int kRescue = 4;          // times the patience, for words whose images are lost
constexpr int kMostBoxes = 40'000;  // at a position; checks by another program refuse more
constexpr double kTiny = 0x1p-900;  // more than all underflows of a word

// spread[k] = Σ_i r[i] |a[i][k] - λ[k] a[i][0]|, up to the rounding of the differences.
PLANARIS_TENSOR_CLONES
void spreads(const double* a, const double* r, const double* lambda, double* spread, int from,
             int to) {
  std::fill_n(spread, to, 0.0);
  for (int i = 0; i < from; ++i) {
    const double size = r[i];
    if (size == 0) continue;
    const double* row = a + static_cast<size_t>(i) * to;
    const double first = row[0];
    for (int k = 0; k < to; ++k) spread[k] += size * std::abs(row[k] - lambda[k] * first);
  }
}

// The same, and Σ_i r[i] a[i][0] sign(a[i][k] - λ[k] a[i][0]): what the denominator gains.
PLANARIS_TENSOR_CLONES
void signed_spreads(const double* a, const double* r, const double* lambda, double* spread,
                    double* gain, int from, int to) {
  std::fill_n(spread, to, 0.0);
  std::fill_n(gain, to, 0.0);
  for (int i = 0; i < from; ++i) {
    const double size = r[i];
    if (size == 0) continue;
    const double* row = a + static_cast<size_t>(i) * to;
    const double first = row[0], part = size * first;
    for (int k = 0; k < to; ++k) {
      const double d = row[k] - lambda[k] * first;
      spread[k] += size * std::abs(d);
      gain[k] += d < 0 ? -part : part;
    }
  }
}

// out = v |a| for a row vector v >= 0.
PLANARIS_TENSOR_CLONES
void times_absolute(const double* v, const double* a, double* out, int from, int to) {
  std::fill_n(out, to, 0.0);
  for (int i = 0; i < from; ++i) {
    const double size = v[i];
    const double* row = a + static_cast<size_t>(i) * to;
    for (int k = 0; k < to; ++k) out[k] += size * std::abs(row[k]);
  }
}

PLANARIS_TENSOR_CLONES
double dot_of(const double* a, const double* b, int size) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  int k = 0;
  for (; k + kLanes <= size; k += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += a[k + l] * b[k + l];
  }
  double sum = 0;
  for (; k < size; ++k) sum += a[k] * b[k];
  for (const double x : lanes) sum += x;
  return sum;
}

// max r·|y| / c·y over the columns of `duals` (dim × count); `work` takes 2 count numbers.
PLANARIS_TENSOR_CLONES
double width_of(const double* c, const double* r, const double* duals, int count, int dim,
                double* work) {
  double *value = work, *off = work + count;
  std::fill_n(work, 2 * count, 0.0);
  for (int k = 0; k < dim; ++k) {
    const double* y = duals + static_cast<size_t>(k) * count;
    const double x = c[k], size = r[k];
    for (int j = 0; j < count; ++j) {
      value[j] += x * y[j];
      off[j] += size * std::abs(y[j]);
    }
  }
  double worst = 0;
  for (int j = 0; j < count; ++j) {
    if (!(value[j] > 0)) return kInfinity;
    worst = std::max(worst, off[j] / value[j]);
  }
  return worst;
}

// Grows the box (centre, radius) to contain another; ends are kept as (high, -low).
void join(double* high, double* minus_low, const double* c, const double* r, int dim) {
  for (int k = 0; k < dim; ++k) {
    high[k] = std::max(high[k], c[k] + r[k]);
    minus_low[k] = std::max(minus_low[k], r[k] - c[k]);
  }
}

}  // namespace

Vector absolute(const Vector& v) {
  Vector out(v.size());
  for (size_t k = 0; k < v.size(); ++k) out[k] = std::abs(v[k]);
  return out;
}

Vector negative(const Vector& v) {
  Vector out(v.size());
  for (size_t k = 0; k < v.size(); ++k) out[k] = -v[k];
  return out;
}

Vector product(const Vector& a, const Vector& b, int rows, int depth, int columns) {
  Vector c(static_cast<size_t>(rows) * columns, 0.0);
  if (depth > 0 && columns > 0) multiply(a.data(), b.data(), c.data(), rows, depth, columns);
  return c;
}

double dot(const double* a, const double* b, int size) { return dot_of(a, b, size); }

Shape shape_of(const Enclosure& e) {
  std::vector<int32_t> leaves(e.nodes.size(), 1), to_do{0}, length{0};
  for (int node = e.size() - 1; node >= 0; --node) {  // children before parents
    const Enclosure::Node& n = e.nodes[node];
    if (n.count == 0) continue;
    leaves[node] = 0;
    for (int k = 0; k < n.count; ++k) leaves[node] += leaves[n.first + k];
  }
  std::vector<char> is_hull(e.nodes.size(), 0);
  for (const int32_t node : e.hulls) is_hull[node] = 1;
  Shape out;
  while (!to_do.empty()) {
    const int32_t node = to_do.back(), depth = length.back();
    to_do.pop_back();
    length.pop_back();
    const Enclosure::Node& n = e.nodes[node];
    if (is_hull[node]) out.hulls.push_back(leaves[node]);
    const bool image = depth < 0;  // of a hull under a word
    if (!n.split && !image) out.words.push_back(depth);
    for (int k = n.count - 1; k >= 0; --k) {
      to_do.push_back(n.first + k);
      length.push_back(n.split ? depth + 1 : -1);
    }
  }
  return out;
}

// A product of letters that ends at the bond. For x with x[0] = 1 the exact image X is within
// error + X[0] · relative of x · matrix, and sizes |x| · |matrix| are below `size`.
struct Encloser::Word {
  int from = 1, to = 1;
  Vector matrix, error, relative, size;
};

Encloser::Encloser(const std::vector<Letters>& steps, const std::vector<Vector>& duals,
                   const Effort& effort, const Terms& terms)
    : steps_(steps), duals_(duals), effort_(effort), terms_(terms), shapes_(steps.size() + 1),
      refined_(steps.size() + 1, 0), hull_centres_(steps.size() + 1), hull_radii_(steps.size() + 1),
      sizes_(steps.size() + 1) {
  measure(0);
}

double Encloser::width(const double* c, const double* r, int position, Vector& work) const {
  const int dim = steps_[position - 1].to;
  const int count = static_cast<int>(duals_[position].size()) / dim;
  work.resize(static_cast<size_t>(2) * count);
  return width_of(c, r, duals_[position].data(), count, dim, work.data());
}

// Hulls of a position as matrices, and what the step after it needs of them.
void Encloser::measure(int position) {
  const Enclosure& e = found_[position];
  Vector c, r, size(e.dim, 0.0);
  for (const int32_t node : e.hulls) {
    c.insert(c.end(), e.c(node), e.c(node) + e.dim);
    r.insert(r.end(), e.r(node), e.r(node) + e.dim);
    for (int k = 0; k < e.dim; ++k)
      size[k] = std::max(size[k], std::abs(e.c(node)[k]) + e.r(node)[k]);
  }
  hull_centres_[position] = std::move(c);
  hull_radii_[position] = std::move(r);
  sizes_[position] = std::move(size);
}

Encloser::Word Encloser::letter(int step, int s) const {
  const Letters& t = steps_[step];
  return {t.from, t.to, t.m[s], errors_[s][step], Vector(t.to, 0.0), carried_[s][step]};
}

// s·w: error(sw) = most(s) error(w) + (errors(s) + rounding · |x||T(s)|) |w|. What is relative to
// the first component of the image stays as it is, whatever came before.
Encloser::Word Encloser::longer(const Word& word, int step, int s) const {
  const Letters& t = steps_[step];
  Word out{t.from, word.to,       Vector(static_cast<size_t>(t.from) * word.to),
           {},     word.relative, Vector(word.to)};
  multiply(t.m[s].data(), word.matrix.data(), out.matrix.data(), t.from, t.to, word.to);
  if (terms_.coarse > 0) {
    for (size_t i = 0; i < out.matrix.size(); ++i) {
      if (i % word.to != 0) out.matrix[i] *= 1 - terms_.coarse;  // towards boxes that are too small
    }
  }
  const double rounding = terms_.word * ((t.to + 3) * kUlp + 1.01 * terms_.coarse);
  const Vector &size = carried_[s][step], &error = errors_[s][step];
  times_absolute(size.data(), word.matrix.data(), out.size.data(), t.to, word.to);
  out.error.resize(word.to);
  Vector added(t.to);
  for (int k = 0; k < t.to; ++k) added[k] = error[k] + rounding * size[k];
  times_absolute(added.data(), word.matrix.data(), out.error.data(), t.to, word.to);
  for (int k = 0; k < word.to; ++k) out.error[k] += most_[s][step] * word.error[k] + kTiny;
  return out;
}

// Images of the hulls of position `from` under a word, (hulls × to); false: lost.
//
// For any λ and x in a box, x'_k = (xA + e)_k / (xA + e)_0 differs from λ by at most
// sup |x (A_k - λ A_0) + e_k - λ e_0| / inf (xA + e)_0. Where denominators are wide, either end has
// a λ of its own, from one step of Dinkelbach's iteration. Errors of the word become relative.
bool Encloser::image(Word& word, int from, Vector& centre, Vector& radius) const {
  const int d = word.from, to = word.to;
  const Vector &c = hull_centres_[from], &r = hull_radii_[from];
  const int count = static_cast<int>(c.size()) / d;
  centre.resize(static_cast<size_t>(count) * to);
  radius.resize(centre.size());
  const double* a = word.matrix.data();
  Vector high = product(c, word.matrix, count, d, to);
  if (terms_.blur > 0) {
    for (size_t i = 0; i < high.size(); ++i) {
      if (i % to != 0) high[i] *= 1 - terms_.blur;
    }
  }
  Vector lambda(to), spread(to), gain(to), upper(to), lower(to);
  const double gamma = terms_.image * ((d + 4) * kUlp + 1.01 * terms_.blur);
  double least_of_all = kInfinity;
  for (int v = 0; v < count; ++v) {
    const double *x = high.data() + static_cast<size_t>(v) * to,
                 *rv = r.data() + static_cast<size_t>(v) * d;
    double wide = 0;
    for (int k = 0; k < d; ++k) wide += rv[k] * std::abs(a[static_cast<size_t>(k) * to]);
    const double first = -(terms_.radius * wide + gamma * word.size[0] + word.error[0] - x[0]);
    const double least = -(-first / (1 + word.relative[0]));
    if (!(least > 0)) return false;
    least_of_all = std::min(least_of_all, least);
    // sup of x (A_k - λ A_0) over the box, in the direction `sign`, with all that is uncertain.
    const auto reach = [&](int k, double l, double s, double sign) {
      const double middle = sign > 0 ? x[k] + (-l) * x[0] : l * x[0] - x[k];
      const double off = middle + terms_.radius * s +
                         gamma * (word.size[k] + std::abs(l) * word.size[0]) * 2 + word.error[k] +
                         std::abs(l) * word.error[0];
      return std::max(off, 0.0) / least + word.relative[k] + std::abs(l) * word.relative[0];
    };
    double *to_c = centre.data() + static_cast<size_t>(v) * to,
           *to_r = radius.data() + static_cast<size_t>(v) * to;
    for (int k = 0; k < to; ++k) lambda[k] = x[k] / x[0];
    if (!(wide > kWide * x[0])) {
      spreads(a, rv, lambda.data(), spread.data(), d, to);
      for (int k = 0; k < to; ++k) {
        to_c[k] = lambda[k];
        to_r[k] = std::max(reach(k, lambda[k], spread[k], 1), reach(k, lambda[k], spread[k], -1));
      }
    } else {
      signed_spreads(a, rv, lambda.data(), spread.data(), gain.data(), d, to);
      for (int k = 0; k < to; ++k) {
        upper[k] = lambda[k] + spread[k] / std::max(x[0] + gain[k], least);
        lower[k] = lambda[k] - spread[k] / std::max(x[0] - gain[k], least);
      }
      spreads(a, rv, upper.data(), spread.data(), d, to);
      spreads(a, rv, lower.data(), gain.data(), d, to);
      for (int k = 0; k < to; ++k) {
        const double top = upper[k] + reach(k, upper[k], spread[k], 1);
        const double bottom = reach(k, lower[k], gain[k], -1) - lower[k];
        to_c[k] = 0.5 * (top - bottom);
        to_r[k] = std::max(top - to_c[k], bottom + to_c[k]);
      }
    }
    to_c[0] = 1;
    to_r[0] = 0;
    for (int k = 0; k < to; ++k) {
      if (!std::isfinite(to_r[k])) return false;
    }
  }
  for (int k = 0; k < to; ++k) {
    word.relative[k] += word.error[k] / least_of_all;
    word.error[k] = 0;
  }
  return true;
}

const Enclosure& Encloser::advance(const Vector& errors, const Vector& moved) {
  const int position = static_cast<int>(found_.size());
  prepare(position - 1, errors, moved);
  found_.push_back(grow(position));
  shapes_[position] = shape_of(found_.back());
  measure(position);
  return found_.back();
}

void Encloser::refine(int position, const Vector& dual, int patience) {
  const auto dim = static_cast<size_t>(steps_[position - 1].to);
  const size_t count = duals_[position].size() / dim;
  Vector more;
  for (size_t k = 0; k < dim; ++k) {
    const auto row = duals_[position].begin() + static_cast<std::ptrdiff_t>(k * count);
    more.insert(more.end(), row, row + static_cast<std::ptrdiff_t>(count));
    more.push_back(dual[k]);
  }
  duals_[position] = std::move(more);
  refined_[position] = 1;
  found_[position] =
      grow(position, patience);  // its hulls stay as they were: others may be using them
}

// What words need to know of a step.
void Encloser::prepare(int step, const Vector& errors, const Vector& moved) {
  const Letters& t = steps_[step];
  const Vector& c = hull_centres_[step];
  const Vector& r = hull_radii_[step];
  for (int s = 0; s < 2; ++s) {
    Vector added(t.to, 0.0), carried(t.to);
    if (!errors.empty()) {
      for (int k = 0; k < t.to; ++k)
        added[k] = terms_.added * errors[static_cast<size_t>(s) * t.to + k];
    }
    times_absolute(sizes_[step].data(), t.m[s].data(), carried.data(), t.from, t.to);
    double most = 0;  // first component of an image
    for (size_t v = 0; v < c.size() / t.from; ++v) {
      double sum = added[0];
      for (int k = 0; k < t.from; ++k) {
        const double x = t.m[s][static_cast<size_t>(k) * t.to];
        sum += c[v * t.from + k] * x + r[v * t.from + k] * std::abs(x);
      }
      most = std::max(most, sum);
    }
    for (size_t k = 0; k < moved.size(); ++k) added[k] += terms_.moved * moved[k] * most;
    if (!moved.empty()) most += terms_.moved * moved[0] * most;
    errors_[s].push_back(std::move(added));
    carried_[s].push_back(std::move(carried));
    most_[s].push_back(most);
  }
}

Enclosure Encloser::grow(int position, int patience) const {
  Vector work;
  const int step = position - 1;
  const Letters& t = steps_[step];
  struct Leaf {
    Word word;
    Vector centre, radius;
    int length = 1;
  };
  struct Grown {  // a node of the tree of words
    int child[2] = {-1, -1};
    int leaf = -1;
    int8_t last = -1;
  };
  std::vector<Leaf> leaves;
  std::vector<Grown> grown{{}};
  // Widest first; leaves that are lost before all.
  std::priority_queue<std::pair<double, int>> queue;
  const auto add = [&](Word word, int length, int8_t last) {
    Leaf leaf{std::move(word), {}, {}, length};
    double widest = kInfinity;
    if (image(leaf.word, position - length, leaf.centre, leaf.radius)) {
      widest = 0;
      for (size_t k = 0; k < leaf.centre.size(); k += t.to) {
        widest =
            std::max(widest, width(leaf.centre.data() + k, leaf.radius.data() + k, position, work));
      }
      widest = std::min(widest, kWidest);  // after all that are lost
    } else {
      leaf.centre.clear();
      if (length == position) throw Lost();
    }
    grown.push_back({{-1, -1}, static_cast<int>(leaves.size()), last});
    leaves.push_back(std::move(leaf));
    if (length < position) queue.emplace(widest, static_cast<int>(grown.size()) - 1);
    return static_cast<int>(grown.size()) - 1;
  };
  for (int8_t s = 0; s < 2; ++s) {
    const int node = add(letter(step, s), 1, s);
    grown[0].child[s] = node;
  }
  int lost = 0;
  for (const Leaf& leaf : leaves) lost += leaf.centre.empty();
  const int room = 2 * (kMostBoxes / effort_.boxes - 1);
  while (!queue.empty()) {
    const auto [widest, node] = queue.top();
    int most = (widest > kUnsafe ? kPatience * patience : 1) * effort_.words;
    if (widest == kInfinity) most *= kRescue;
    if (static_cast<int>(grown.size()) >= std::min(most, room)) break;
    queue.pop();
    const int at = grown[node].leaf;
    const Leaf leaf = std::move(leaves[at]);
    leaves[at].centre.clear();
    lost -= leaf.centre.empty();
    for (int8_t s = 0; s < 2; ++s) {
      const int child =
          add(longer(leaf.word, position - leaf.length - 1, s), leaf.length + 1, grown[node].last);
      grown[node].child[s] = child;
      lost += leaves[grown[child].leaf].centre.empty();
    }
    grown[node].leaf = -1;
  }
  if (lost > 0) throw Lost();

  // The tree of boxes, breadth first: words, then the images of the hulls under each.
  Enclosure out;
  out.dim = t.to;
  std::vector<int> from{0};  // of every node: of grown, or -1 - (leaf, image)
  std::vector<std::pair<int, int>> terminal{{-1, -1}};
  for (size_t node = 0; node < out.nodes.size(); ++node) {
    if (from[node] < 0) continue;
    const Grown& g = grown[from[node]];
    const auto first = static_cast<int32_t>(out.nodes.size());
    if (g.leaf < 0) {
      for (const int child : g.child) {
        out.nodes.push_back({0, 0, grown[child].last, false});
        from.push_back(child);
        terminal.emplace_back(-1, -1);
      }
      out.nodes[node].first = first;
      out.nodes[node].count = 2;
      out.nodes[node].split = true;
      continue;
    }
    const int count = static_cast<int>(leaves[g.leaf].centre.size()) / t.to;
    if (count == 1) {
      terminal[node] = {g.leaf, 0};
      continue;
    }
    for (int v = 0; v < count; ++v) {
      out.nodes.push_back({0, 0, g.last, false});
      from.push_back(-1);
      terminal.emplace_back(g.leaf, v);
    }
    out.nodes[node].first = first;
    out.nodes[node].count = count;
  }
  out.centre.resize(out.nodes.size() * static_cast<size_t>(t.to));
  out.radius.resize(out.centre.size());
  Vector up(t.to), down(t.to);
  for (int node = out.size() - 1; node >= 0; --node) {  // hulls, children before parents
    double *cn = out.centre.data() + static_cast<size_t>(node) * t.to,
           *rn = out.radius.data() + static_cast<size_t>(node) * t.to;
    if (out.nodes[node].count == 0) {
      const auto [leaf, v] = terminal[node];
      std::copy_n(leaves[leaf].centre.data() + static_cast<size_t>(v) * t.to, t.to, cn);
      std::copy_n(leaves[leaf].radius.data() + static_cast<size_t>(v) * t.to, t.to, rn);
      continue;
    }
    std::fill(up.begin(), up.end(), -kInfinity);
    std::fill(down.begin(), down.end(), -kInfinity);
    for (int k = 0; k < out.nodes[node].count; ++k) {
      join(up.data(), down.data(), out.c(out.nodes[node].first + k),
           out.r(out.nodes[node].first + k), t.to);
    }
    for (int k = 0; k < t.to; ++k) {
      cn[k] = 0.5 * (up[k] - down[k]);
      rn[k] = std::max(up[k] - cn[k], down[k] + cn[k]);
    }
  }
  // Hulls: the widest node is replaced by its children while there is room.
  std::priority_queue<std::pair<double, int32_t>> wide;
  wide.emplace(width(out.c(0), out.r(0), position, work), 0);
  out.hulls.clear();
  while (!wide.empty()) {
    const int32_t node = wide.top().second;
    const Enclosure::Node& n = out.nodes[node];
    const int room = effort_.boxes - static_cast<int>(out.hulls.size() + wide.size());
    wide.pop();
    if (n.count == 0 || n.count - 1 > room) {
      out.hulls.push_back(node);
      continue;
    }
    for (int k = 0; k < n.count; ++k) {
      wide.emplace(width(out.c(n.first + k), out.r(n.first + k), position, work), n.first + k);
    }
  }
  return out;
}

}  // namespace planaris::tensor
