#include "task/tensor/batches.h"

#include <gtest/gtest.h>

#include "sudoku/board.h"
#include "task/drawing.h"

namespace as2::task {
namespace {

constexpr int kBoards = 24;

// Solved 4 × 4 boards with about half of the cells as evidence; every pixel of a picture is ten times its
// class.
struct Fixture {
  Instances instances;
  ImagePool pool;
  infer::PictureMap map;

  Fixture() {
    sudoku::GenerateOptions options;
    options.box = 2;
    options.min_clues = options.max_clues = 6;
    instances = Instances::blank(kBoards, 16);
    const auto boards = sudoku::generate(options, 0, kBoards, 1);
    for (int b = 0; b < kBoards; ++b) {
      for (int cell = 0; cell < 16; ++cell) {
        instances.labels[b][cell] = static_cast<std::int16_t>(boards[b].solution[cell] - 1);
        instances.evidence[b][cell] = boards[b].puzzle[cell] != 0;
      }
    }
    const std::vector<int> classes = {3, 1, 2, 0, 4, 2, 1, 3, 4};
    Table<std::uint8_t> pixels(0, 28 * 28, 0);
    for (const int shown : classes)
      pixels.add_row(std::vector<std::uint8_t>(28 * 28, static_cast<std::uint8_t>(10 * shown)).data());
    pool = ImagePool::of(pixels, classes);
    map.class_of.assign(16, {1, 2, 3, 4});
    map.classes = 5;
    for (int cell = 0; cell < 16; ++cell) map.positions.push_back(cell);
  }

  Batches batches(BatchOptions options) const { return {instances, pool, map, options, torch::kCPU}; }
};

BatchOptions options_of(std::int64_t batch) {
  BatchOptions options;
  options.batch = batch;
  options.picture_rows = batch;
  options.seed = 7;
  options.symmetries = true;
  return options;
}

void expect_same(const Batch& a, const Batch& b) {
  EXPECT_TRUE(a.labels.equal(b.labels));
  EXPECT_TRUE(a.evidence.equal(b.evidence));
  EXPECT_TRUE(a.shows.equal(b.shows));
  EXPECT_TRUE(a.slot_positions.equal(b.slot_positions));
  EXPECT_TRUE(a.pixels.equal(b.pixels));
}

TEST(Batches, ArePureFunctionsOfSeedEpochAndIndex) {
  const Fixture fixture;
  BatchOptions options = options_of(8);
  options.distortion = 1;
  Batches one = fixture.batches(options), two = fixture.batches(options);
  one.batch(0, 1);
  one.batch(3, 0);
  torch::rand({5});
  expect_same(one.batch(2, 1), two.batch(2, 1));
  EXPECT_FALSE(one.batch(2, 1).labels.equal(one.batch(2, 2).labels));
  EXPECT_FALSE(one.batch(2, 1).labels.equal(one.batch(3, 1).labels));
}

TEST(Batches, SymmetriesKeepEveryRule) {
  const Fixture fixture;
  Batches batches = fixture.batches(options_of(kBoards));
  for (int epoch = 0; epoch < 20; ++epoch) {
    const Batch batch = batches.batch(epoch, 0);
    EXPECT_TRUE(batch.evidence.sum(1).equal(torch::full({kBoards}, 6, torch::kInt64)));
    for (int b = 0; b < kBoards; ++b) {
      sudoku::Grid grid, puzzle;
      for (int cell = 0; cell < 16; ++cell) {
        grid.push_back(static_cast<std::uint8_t>(batch.labels[b][cell].item<std::int64_t>() + 1));
        puzzle.push_back(batch.evidence[b][cell].item<bool>() ? grid.back() : std::uint8_t{0});
      }
      ASSERT_TRUE(sudoku::is_solved(grid));
      ASSERT_EQ(sudoku::count_solutions(puzzle), 1);
    }
  }
}

// The tensor version does to every board what sudoku::Symmetry, drawn with the same numbers, does to it.
TEST(Symmetries, AreThoseOfSudoku) {
  const Fixture fixture;
  const Symmetries symmetries(2, torch::kCPU);
  const auto orders = sudoku::line_orders(2, 2);
  ASSERT_EQ(orders.size(), 8U);
  torch::manual_seed(4);
  const torch::Tensor numbers = torch::rand({kBoards, symmetries.numbers()});
  const InstanceTensors tensors = tensors_of(fixture.instances, torch::kCPU);
  torch::Tensor labels = tensors.labels.to(torch::kInt64), evidence = tensors.evidence;
  const torch::Tensor before = labels, given = evidence;
  labels = torch::where(evidence, labels, torch::full_like(labels, -1));  // blanks stay blanks
  const Symmetries::Drawn drawn = symmetries.draw(numbers);
  labels = drawn.moved_digits(labels);
  evidence = drawn.moved(evidence);
  for (int b = 0; b < kBoards; ++b) {
    sudoku::Symmetry symmetry = sudoku::Symmetry::identity(2);
    const auto order = [&](int column) {
      return orders[static_cast<std::size_t>(numbers[b][column].item<float>() * 8)];
    };
    symmetry.rows = order(0);
    symmetry.columns = order(1);
    symmetry.transpose = numbers[b][2].item<float>() < 0.5F;
    const torch::Tensor renamed = numbers[b].narrow(0, 3, 4).argsort();
    for (int digit = 0; digit < 4; ++digit)
      symmetry.digits[digit + 1] = static_cast<std::uint8_t>(renamed[digit].item<std::int64_t>() + 1);
    sudoku::Grid puzzle, expected;
    for (int cell = 0; cell < 16; ++cell)
      puzzle.push_back(static_cast<std::uint8_t>(
          given[b][cell].item<bool>() ? before[b][cell].item<std::int64_t>() + 1 : 0));
    expected = symmetry.apply(puzzle);
    for (int cell = 0; cell < 16; ++cell) {
      EXPECT_EQ(labels[b][cell].item<std::int64_t>() + 1, expected[cell]) << b << ' ' << cell;
      EXPECT_EQ(evidence[b][cell].item<bool>(), expected[cell] != 0);
    }
  }
}

// Bands and stacks of different sizes, and no transpose.
TEST(Symmetries, KeepTheRulesWhereBoxesAreNotSquare) {
  for (const sudoku::Box box : {sudoku::Box(2, 3), sudoku::Box(2, 5), sudoku::Box(3, 4)}) {
    const std::int64_t cells = box.cells();
    const auto boards = sudoku::generate({box, box.cells() / 2, box.cells() / 2, 8}, 0, kBoards);
    torch::Tensor solved = torch::empty({kBoards, cells}, torch::kInt64), given = torch::empty_like(solved);
    for (int b = 0; b < kBoards; ++b) {
      for (int cell = 0; cell < cells; ++cell) {
        solved[b][cell] = boards[b].solution[cell] - 1;
        given[b][cell] = boards[b].puzzle[cell] - 1;
      }
    }
    const Symmetries symmetries(box, torch::kCPU);
    torch::manual_seed(6);
    const Symmetries::Drawn drawn = symmetries.draw(torch::rand({kBoards, symmetries.numbers()}));
    const torch::Tensor solutions = drawn.moved_digits(solved) + 1, puzzles = drawn.moved_digits(given) + 1;
    EXPECT_FALSE(solutions.equal(solved + 1));
    for (int b = 0; b < kBoards; ++b) {
      sudoku::Grid solution, puzzle;
      for (int cell = 0; cell < cells; ++cell) {
        solution.push_back(static_cast<std::uint8_t>(solutions[b][cell].item<std::int64_t>()));
        puzzle.push_back(static_cast<std::uint8_t>(puzzles[b][cell].item<std::int64_t>()));
      }
      ASSERT_TRUE(sudoku::is_solved(solution));
      ASSERT_EQ(sudoku::solve(puzzle), solution);
      ASSERT_EQ(sudoku::count_solutions(puzzle), 1);
    }
  }
}

// The numbers are the batches' own: LibTorch's default generator goes on as if they had not been drawn.
TEST(Batches, LeaveTheDefaultGeneratorAlone) {
  const Fixture fixture;
  BatchOptions options = options_of(8);
  options.distortion = 1;
  Batches batches = fixture.batches(options);
  torch::manual_seed(11);
  const torch::Tensor expected = torch::rand({4});
  torch::manual_seed(11);
  batches.batch(0, 0);
  EXPECT_TRUE(torch::rand({4}).equal(expected));
}

// What evaluation sees without LibTorch is what it saw with it, picture by picture: drawn ones, named ones
// and the examples' own files, whether or not the last batch is full.
TEST(DrawnPictures, AreThoseOfBatchesThatAreNotShuffled) {
  Fixture fixture;
  fixture.instances = fixture.instances.slice(0, 21);
  for (int cell = 0; cell < 16; ++cell) fixture.instances.evidence[3][cell] = cell % 3 == 0;
  std::vector<Instances> cases(2, fixture.instances);
  cases[1].pictures = {21, 16, -1};
  cases[1].files = Table<std::uint8_t>(2, 28 * 28, 77);
  for (int n = 0; n < 21; ++n) {
    cases[1].pictures[n][n % 16] = static_cast<std::int32_t>(n % 9);
    cases[1].pictures[n][(n + 5) % 16] = kFirstFile - n % 2;
  }
  for (std::uint8_t* pixel = cases[1].files[1]; pixel != cases[1].files[2]; ++pixel) *pixel = 88;
  // Pictures of one class differ, so that it matters which is drawn.
  for (std::int64_t k = 0; k < fixture.pool.size(); ++k)
    fixture.pool.pixels[k][0] = static_cast<std::uint8_t>(k);
  for (const Instances& instances : cases) {
    for (const std::uint64_t seed : {0, 7, 2026}) {
      BatchOptions options;
      options.batch = options.picture_rows = 8;
      options.seed = seed;
      options.shuffle = false;
      Batches batches(instances, fixture.pool, fixture.map, options, torch::kCPU);
      const DrawnPictures drawn(instances, fixture.pool, fixture.map, 8, seed);
      ASSERT_EQ(drawn.batches(), batches.batches());
      for (std::int64_t index = 0; index < drawn.batches(); ++index) {
        const Batch batch = batches.batch(0, index);
        const torch::Tensor pixels = (batch.pixels * 255).round().to(torch::kUInt8).contiguous();
        const std::vector<infer::Scene> scenes = drawn.batch(index);
        ASSERT_EQ(scenes.size(), index < 2 ? 8U : 5U);
        for (std::size_t n = 0; n < scenes.size(); ++n) {
          const auto row = static_cast<std::int64_t>(n);
          ASSERT_EQ(batch.slot_mask[row].sum().item<std::int64_t>(),
                    static_cast<std::int64_t>(scenes[n].size()));
          for (std::size_t slot = 0; slot < scenes[n].size(); ++slot) {
            const torch::Tensor expected = pixels[row][static_cast<std::int64_t>(slot)];
            EXPECT_EQ(batch.slot_positions[row][static_cast<std::int64_t>(slot)].item<int>(),
                      scenes[n][slot].position);
            EXPECT_TRUE(std::equal(scenes[n][slot].pixels.begin(), scenes[n][slot].pixels.end(),
                                   expected.data_ptr<std::uint8_t>()));
          }
        }
      }
    }
  }
}

TEST(Batches, AnEpochShowsEveryExampleOnce) {
  const Fixture fixture;
  BatchOptions options = options_of(8);
  options.symmetries = false;
  Batches batches = fixture.batches(options);
  torch::Tensor seen = torch::zeros({16}, torch::kInt64);
  for (int index = 0; index < batches.batches(); ++index) seen += batches.batch(5, index).labels.sum(0);
  EXPECT_TRUE(seen.equal(tensors_of(fixture.instances, torch::kCPU).labels.to(torch::kInt64).sum(0)));
}

TEST(Batches, PicturesShowTheSymbolOfTheirPosition) {
  const Fixture fixture;
  Batches batches = fixture.batches(options_of(8));
  const Batch batch = batches.batch(1, 0);
  EXPECT_EQ(batch.pixels.sizes(), (std::vector<std::int64_t>{8, 6, 28, 28}));
  EXPECT_TRUE(batch.slot_mask.all().item<bool>());
  const torch::Tensor symbol = batch.labels.gather(1, batch.slot_positions);
  EXPECT_TRUE(batch.evidence.gather(1, batch.slot_positions).all().item<bool>());
  const torch::Tensor shown = (batch.pixels.select(3, 0).select(2, 0) * 255 / 10).round().to(torch::kInt64);
  EXPECT_TRUE(shown.equal(symbol + 1));
}

// Ranks see the rows of one process's batch, each row once, also where its pictures do not divide evenly.
// Evidence without a picture takes no slot and is given as it is, also where its label may not be used.
TEST(Batches, AKnownValueHasNoPicture) {
  Fixture fixture;
  Instances& rows = fixture.instances;
  rows.pictures = Table<std::int32_t>(kBoards, 16, -1);
  const std::int64_t all = 6;
  std::vector<std::vector<int>> drawn(kBoards), given(kBoards);
  for (int n = 0; n < kBoards; ++n) {
    for (int cell = 0; cell < 16; ++cell) {
      if (!rows.evidence[n][cell]) continue;
      const bool known = given[n].size() < 1 + static_cast<std::size_t>(n % 5);
      if (known) rows.pictures[n][cell] = kNoPicture;
      (known ? given : drawn)[n].push_back(cell);
      EXPECT_EQ(has_picture(rows, fixture.map, n, cell), !known);
    }
  }
  rows.known = Flags(kBoards, 16, 0);
  BatchOptions options = options_of(kBoards);
  options.symmetries = false;
  options.shuffle = false;
  const Batch batch = fixture.batches(options).batch(0, 0);
  ASSERT_EQ(batch.slot_positions.size(1), all - 1);
  for (int n = 0; n < kBoards; ++n) {
    std::vector<int> slots, fixed;
    for (std::int64_t slot = 0; slot < all - 1; ++slot) {
      if (batch.slot_mask[n][slot].item<bool>())
        slots.push_back(static_cast<int>(batch.slot_positions[n][slot].item<std::int64_t>()));
    }
    for (int cell = 0; cell < 16; ++cell) {
      if (batch.given[n][cell].item<bool>()) fixed.push_back(cell);
    }
    EXPECT_EQ(slots, drawn[n]) << n;
    EXPECT_EQ(fixed, given[n]) << n;
  }
  const DrawnPictures scenes(rows, fixture.pool, fixture.map, kBoards, 1);
  const auto drawn_scenes = scenes.batch(0);
  for (int n = 0; n < kBoards; ++n) {
    std::vector<int> shown;
    for (const infer::Picture& picture : drawn_scenes[n]) shown.push_back(picture.position);
    EXPECT_EQ(shown, drawn[n]) << n;
  }
}

TEST(Batches, RanksShareABatchWithoutOverlap) {
  const Fixture fixture;
  BatchOptions options = options_of(8);
  options.picture_rows = 5;
  options.distortion = 1;
  const Batch joined = fixture.batches(options).batch(4, 1);
  for (const int world : {2, 4}) {
    options.world = world;
    for (options.rank = 0; options.rank < world; ++options.rank) {
      const auto own = [&](const torch::Tensor& all) {
        return all.slice(0, options.rank, all.size(0), world);
      };
      const Batch batch = fixture.batches(options).batch(4, 1);
      EXPECT_TRUE(batch.labels.equal(own(joined.labels)));
      EXPECT_TRUE(batch.evidence.equal(own(joined.evidence)));
      EXPECT_TRUE(batch.slot_positions.equal(own(joined.slot_positions)));
      EXPECT_TRUE(torch::allclose(batch.pixels, own(joined.pixels), 0, 1e-6));
    }
    options.rank = 0;
  }
}

TEST(Batches, DistortionMovesInkButKeepsItsRange) {
  torch::manual_seed(2);
  torch::Tensor images = torch::zeros({16, 28, 28});
  images.slice(1, 10, 18).slice(2, 10, 18).fill_(1);
  const torch::Tensor changed = distorted(images, torch::rand({16, kDistortionNoise}), 1);
  EXPECT_EQ(changed.sizes(), images.sizes());
  EXPECT_GE(changed.min().item<double>(), 0);
  EXPECT_LE(changed.max().item<double>(), 1.0001);
  EXPECT_NEAR(changed.sum().item<double>() / images.sum().item<double>(), 1, 0.4);
  EXPECT_FALSE(torch::allclose(changed, images, 0, 0.1));
  const torch::Tensor same = distorted(images, torch::rand({16, kDistortionNoise}), 0);
  EXPECT_TRUE(torch::allclose(same, images, 0, 1e-3));
}

// Listed boards are the fixture's first, with every label 3 at what was not evidence: easy to tell apart.
TEST(Batches, ListedExamplesTakeTheirShareAndSomeAreGivenHints) {
  const Fixture fixture;
  ListedInstances listed;
  listed.instances = fixture.instances.slice(0, 3);
  for (std::size_t k = 0; k < listed.instances.labels.cells.size(); ++k) {
    if (!listed.instances.evidence.cells[k]) listed.instances.labels.cells[k] = 3;
  }
  const torch::Tensor listed_labels = tensors_of(listed.instances, torch::kCPU).labels;
  listed.share = 0.75;
  BatchOptions options = options_of(8);
  options.symmetries = false;
  const auto batches = [&](double hints, int rank = 0, int world = 1) {
    BatchOptions own = options;
    own.rank = rank;
    own.world = world;
    listed.hints = hints;
    return Batches(fixture.instances, fixture.pool, fixture.map, own, torch::kCPU, listed);
  };
  const auto is_listed = [&](const torch::Tensor& labels) {
    return (listed_labels == labels).all(1).any().item<bool>();
  };
  Batches plain = batches(0), hinted = batches(0.5);
  int rows = 0, from_list = 0, with_hints = 0;
  for (int epoch = 0; epoch < 40; ++epoch) {
    const Batch a = plain.batch(epoch, 1), b = hinted.batch(epoch, 1);
    EXPECT_TRUE(a.labels.equal(b.labels));
    for (int n = 0; n < 8; ++n, ++rows) {
      EXPECT_EQ(a.evidence[n].sum().item<int>(), 6);
      const int clues = b.evidence[n].sum().item<int>();
      EXPECT_TRUE((b.evidence[n] | ~a.evidence[n]).all().item<bool>());
      if (is_listed(a.labels[n])) {
        ++from_list;
        with_hints += clues > 6;
        EXPECT_LE(clues, 11);  // half of the ten blanks
      } else {
        EXPECT_EQ(clues, 6);
      }
      // Every clue has its picture, a hint too.
      EXPECT_EQ(b.slot_mask[n].sum().item<int>(), clues);
    }
    expect_same(b, batches(0.5).batch(epoch, 1));  // a pure function of seed, epoch and index
    const Batch half = batches(0.5, 1, 2).batch(epoch, 1);
    EXPECT_TRUE(half.labels.equal(b.labels.slice(0, 1, 8, 2)));
    EXPECT_TRUE(half.evidence.equal(b.evidence.slice(0, 1, 8, 2)));
  }
  EXPECT_NEAR(from_list, 0.75 * rows, 0.1 * rows);
  EXPECT_NEAR(with_hints, 0.4 * from_list, 0.1 * from_list);  // every second, less those that round to none
}

TEST(Batches, TakeRowsChangesThoseAlone) {
  const Fixture fixture;
  Batches batches = fixture.batches(options_of(8));
  Batch current, other;
  current.copy_from(batches.batch(0, 0));
  other.copy_from(batches.batch(0, 1));
  Batch before;
  before.copy_from(current);
  const torch::Tensor rows = torch::arange(8).remainder(3) == 0;
  current.take_rows(other, rows);
  const auto tensors = current.tensors(), old = before.tensors(), fresh = other.tensors();
  ASSERT_EQ(tensors.size(), 9U);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    for (int n = 0; n < 8; ++n) {
      EXPECT_TRUE(tensors[t].second[n].equal((n % 3 == 0 ? fresh : old)[t].second[n])) << tensors[t].first;
    }
  }
}

}  // namespace
}  // namespace as2::task
