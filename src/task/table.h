// Numbers in rows and columns: the form in which a task's examples and pictures are made and kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace as2::task {

template <class T>
struct Table {
  std::int64_t rows = 0, columns = 0;
  std::vector<T> cells;  // row by row

  Table() = default;
  Table(std::int64_t row_count, std::int64_t column_count, T value)
      : rows(row_count), columns(column_count), cells(static_cast<std::size_t>(rows * columns), value) {}

  // Without columns it says nothing.
  bool defined() const { return columns > 0; }
  T* operator[](std::int64_t row) { return cells.data() + row * columns; }
  const T* operator[](std::int64_t row) const { return cells.data() + row * columns; }
  void add_row(const T* row) {
    cells.insert(cells.end(), row, row + columns);
    ++rows;
  }
  // `count` rows from `first` on.
  Table slice(std::int64_t first, std::int64_t count) const {
    Table part;
    part.rows = count;
    part.columns = columns;
    part.cells.assign((*this)[first], (*this)[first + count]);
    return part;
  }
};

using Flags = Table<std::uint8_t>;  // 1 and 0

}  // namespace as2::task
