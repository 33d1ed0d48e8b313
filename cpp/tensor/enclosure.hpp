// Enclosures of the vectors x_p = x_{p-1} T(s_p) of all configurations at once, at every bond of a
// chain. Vectors are scaled to first component one and enclosed by boxes. Next to the bond, words
// of letters are multiplied out exactly; what is farther away is a hull. Words are longer where
// their boxes are wide: a tree of words, grown at its widest leaf. All of it must run while the
// processor rounds up.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace planaris::tensor {

using Vector = std::vector<double>;

struct Lost : std::runtime_error {
  Lost() : std::runtime_error("a denominator is not positive") {}
};

// Factors of the terms of the bound, all one. Tests lower them, to see that each is needed, and
// inject errors of known size into what is bounded.
struct Terms {
  double tau = 1, residual = 1, raw = 1, radius = 1, word = 1, cut = 1, last = 1, added = 1;
  double moved = 1, cone = 1, image = 1;
  double inject = 0;  // into the row applied to the state, as if it were rounding
  double turn = 0;    // into the cores, which may be anything
  double coarse = 0;  // into words, as if it were rounding
  double blur = 0;    // into images of boxes under words, as if it were rounding
  int pattern = 0;
};

// How much to spend on a row.
struct Effort {
  int boxes = 8;      // hulls that stand for everything farther away
  int words = 24;     // nodes of the tree of words; more where denominators are in danger
  double enough = 1;  // times the target: more is not spent on a row with such a bound
};

// A matrix per letter, (from × to) each.
struct Letters {
  int from = 1, to = 1;
  Vector m[2];
};

// A tree of boxes: |x - centre| <= radius for one of the children of every node that has some.
// Children of the root are the letters next to the bond.
struct Enclosure {
  struct Node {
    int32_t first = 0, count = 0;  // children
    int8_t letter = -1;            // next to the bond; -1: either
    bool split = false;            // children are longer words, not images of hulls under this one
  };
  int dim = 1;
  std::vector<Node> nodes{Node{}};
  Vector centre{1.0}, radius{0.0};  // (nodes × dim)
  std::vector<int32_t> hulls{0};    // nodes that contain everything together

  int size() const { return static_cast<int>(nodes.size()); }
  const double* c(int node) const { return centre.data() + static_cast<size_t>(node) * dim; }
  const double* r(int node) const { return radius.data() + static_cast<size_t>(node) * dim; }
};

// What another program needs to enclose a position in the same way.
struct Shape {
  std::vector<int32_t> words;  // lengths of the words at the leaves of the tree, in preorder
  std::vector<int32_t> hulls;  // how many leaves of the tree of boxes are in every hull
};
Shape shape_of(const Enclosure& enclosure);

// Encloses position after position of a chain.
class Encloser {
 public:
  // steps[p] leads from position p to p + 1. `duals[p]` (dim × count): vectors of the other side,
  // by which widths of boxes are judged; any will do.
  Encloser(const std::vector<Letters>& steps, const std::vector<Vector>& duals,
           const Effort& effort, const Terms& terms);

  const Enclosure& at(int position) const { return found_[position]; }
  // The tree that the hulls are from, and the one that was grown last if that is another.
  const Shape& shape(int position) const { return shapes_[position]; }
  Shape refined(int position) const {
    return refined_[position] ? shape_of(found_[position]) : Shape{};
  }
  // The next position. `errors` (2 × to): bound, per letter, of what is added by the step that
  // leads to it to the image of a vector with first component one; empty: nothing. `moved` (to):
  // vectors are enclosed together with all that come from moving them here by up to so many times
  // their first component; empty: not at all.
  const Enclosure& advance(const Vector& errors, const Vector& moved = {});
  // Encloses a position again, with one more vector of the other side to judge widths by, and
  // `patience` times as many words where denominators are in danger. Different positions may be
  // refined at the same time.
  void refine(int position, const Vector& dual, int patience = 1);

 private:
  struct Word;
  void prepare(int step, const Vector& errors, const Vector& moved);
  Enclosure grow(int position, int patience = 1) const;
  void measure(int position);
  bool image(Word& word, int from, Vector& centre, Vector& radius) const;
  Word letter(int step, int s) const;
  Word longer(const Word& word, int step, int s) const;
  double width(const double* c, const double* r, int position, Vector& work) const;

  const std::vector<Letters>& steps_;
  std::vector<Vector> duals_;
  const Effort effort_;
  const Terms& terms_;
  std::vector<Enclosure> found_{Enclosure{}};
  std::vector<Shape> shapes_;
  std::vector<char> refined_;
  // Per position: hulls as matrices (count × dim), and bounds of all |x|.
  std::vector<Vector> hull_centres_, hull_radii_, sizes_;
  // Per step and letter: errors, sizes times |T|, and the largest first component of an image.
  std::vector<Vector> errors_[2], carried_[2];
  std::vector<double> most_[2];
};

// Small helpers of bounds.
Vector absolute(const Vector& v);
Vector negative(const Vector& v);
Vector product(const Vector& a, const Vector& b, int rows, int depth, int columns);
double dot(const double* a, const double* b, int size);

}  // namespace planaris::tensor
