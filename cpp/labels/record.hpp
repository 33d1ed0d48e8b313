// What a search writes down, for a proof that can be checked without it.
#pragma once

#include <cstdint>
#include <vector>

namespace planaris::labels {

// Steps of one node, in order; variables and labels by their numbers in the input.
struct Record {
  enum Step : int32_t {
    kImpossible = 0,  // variable, label: no partner, or excluded
    kDominated = 1,   // variable, label, the label that is as good everywhere
    kEliminated = 2,  // variable: at most two neighbours, or one label
    kMessages = 3,    // the next numbers are messages of all edges
    kTooDear = 4,     // variable, label: its use costs too much, by the last messages
  };
  std::vector<int32_t> steps;
  std::vector<double> numbers;
  int32_t variable = -1, label = -1;  // the decision after the steps
  int32_t children[2] = {-1, -1};     // the variable has that label, and has not

  void add(Step step, int32_t variable) { steps.insert(steps.end(), {step, variable}); }
  void add(Step step, int32_t variable, int32_t label) {
    steps.insert(steps.end(), {step, variable, label});
  }
  void add(Step step, int32_t variable, int32_t label, int32_t by) {
    steps.insert(steps.end(), {step, variable, label, by});
  }
};

}  // namespace planaris::labels
