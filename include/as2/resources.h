// Where the files that ship with the program are: programs/ and models/.
#pragma once

#include <filesystem>
#include <string>

namespace as2 {

// The folder that holds them: $AS2_HOME, else share/as2 beside the running program's bin/, else the source
// tree this library was built from, else the place it was installed to.
std::filesystem::path data_dir();

// A shipped file, `programs/sudoku.lp`; EnvironmentError that says where it was looked for if there is none.
std::filesystem::path shipped_file(const std::string& relative);

}  // namespace as2
