// Examples as users write them: JSON objects, one per line, each of which says for itself what is given, what
// is known and, by leaving it out, what stays hidden.
//
//   {"images":   {"digit(1,_)": "a.png", "digit(2,_)": "b.png"},    picture files, relative to this file
//    "labels":   {"digit(1,_)": "3"},                               what positions hold
//    "evidence": ["digit(1,_)", "digit(2,_)"],                      left out: every position with a picture
//    "observed": {"total(_)": "7"}}                                 or ["total(7)", "not carry(1,1)"]
//
// Evidence without a picture file needs a label: its value is given, or its picture drawn by it. A line
// without `images` and without `evidence` has as evidence every labelled position that may have a picture.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "as2/constraint_program.h"
#include "compile/position_index.h"
#include "infer/pictures.h"

namespace as2::infer {

struct ExampleLine {
  SourceLocation place;
  std::map<int, std::string> images;  // the picture file of each position that has one
  std::map<int, int> labels;          // the symbol of each position that is labelled
  std::vector<int> evidence;          // ascending
  bool lists_evidence = false;        // by itself
  std::vector<std::string> observed;  // literals, as prob::parse_observation() reads them
};

class ExampleReader {
 public:
  // Keeps references.
  ExampleReader(const compile::ConstraintProgram& program, const PictureMap& pictures);

  // InputError at `place` for anything that is not such an object.
  ExampleLine parse(const std::string& text, const SourceLocation& place) const;
  // One per line that is not blank; InputError where there is none.
  std::vector<ExampleLine> read(const std::string& path) const;

  // Index of the position; InputError where there is none of that name, or none that has pictures.
  int require_position(const std::string& name, const SourceLocation& place) const;
  int require_pictured(const std::string& name, const SourceLocation& place) const;

 private:
  const compile::ConstraintProgram& program_;
  const PictureMap& pictures_;
  compile::PositionIndex index_;
};

}  // namespace as2::infer
