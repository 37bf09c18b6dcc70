// Photos of printed boards that never were: a sheet is drawn, bent, seen by a camera, lit, blurred, made
// noisy and packed as JPEG. For training the network that reads cells, and for measuring the whole.
#pragma once

#include <vector>

#include "datasets/mnist.h"
#include "formats/typeface.h"
#include "random.h"
#include "vision/lattice.h"

namespace as2::vision {

struct CellContent {
  enum Kind { kBlank, kPrinted, kWritten };
  Kind kind = kBlank;
  int digit = 0;
};

// How a sheet is printed and photographed. Lengths are in cells unless said otherwise.
struct PageOptions {
  int side = 9;
  double pitch = 40;                                      // pixels per cell in the photo, about
  double margin = 1;                                      // paper around the board
  double thin = 0.02, thick = 0.05;                       // lines
  double line_ink = 0.8, print_ink = 0.9, pen_ink = 0.8;  // shares of the paper's light that are lost
  double digit_height = 0.6;
  double dirt = 0;    // specks, strokes and pencil marks: how many per cell
  double tinted = 0;  // share of cells with grey paper
  double behind = 0;  // share of cells where print shines through from behind
  double grain = 0;   // unevenness of the paper, a share of its light
  double shadow = 0;  // share of the light lost on one side of an edge
  bool dark_ink = true;
  double turn = 0;                        // radians
  double tilt = 0, tilt_towards = 0;      // radians by which the camera looks askance, and from where
  double bend = 0;                        // by how much lines bulge
  double paper = 220;                     // grey
  double light_lost = 0, light_from = 0;  // share lost across the picture, and the direction
  double blur = 0;                        // standard deviation in pixels
  double noise = 0;                       // the same in grey levels
  int jpeg = 0;                           // quality; 0: not packed
};

struct Page {
  formats::Image picture;
  Lattice lattice;  // where the crossings truly are
};

// The page with these contents, one per cell: printed digits in the typeface, written ones drawn at random
// from `digits` by way of `by_label` (both may be empty where nothing is written).
struct Pens {
  const formats::Typeface* face = nullptr;  // none: digits drawn with straight strokes
  const datasets::Digits* digits = nullptr;
  const std::vector<std::vector<std::uint32_t>>* by_label = nullptr;
};
Page draw_page(const std::vector<CellContent>& contents, const PageOptions& options, const Pens& pens,
               Random& random);

// Everything that training should have seen, drawn at random.
PageOptions random_page(Random& random);
// A lattice as it would be found: every crossing a little off.
Lattice jittered(const Lattice& lattice, double amount, Random& random);

}  // namespace as2::vision
