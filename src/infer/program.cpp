#include "infer/program.h"

#include "as2/resources.h"
#include "infer/grounding.h"
#include "text.h"

namespace as2::infer {

namespace fs = std::filesystem;

std::pair<std::string, std::string> parse_constant(const std::string& text, const SourceLocation& place) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InputError(place, "found the constant " + in_quotes(text) + ", expected one like n=3");
  return {as_printed(text.substr(0, equals)), as_printed(text.substr(equals + 1))};
}

std::shared_ptr<const compile::ConstraintProgram> load_program(const ProgramSource& source) {
  return load_program(source, asp::GroundOptions());
}

std::shared_ptr<const compile::ConstraintProgram> load_program(const ProgramSource& source,
                                                               asp::GroundOptions grounding,
                                                               std::vector<asp::Warning>* warnings) {
  std::error_code none;
  const bool compiled = !source.compiled.empty() && fs::exists(source.compiled, none);
  if (!compiled && !source.beside.empty() && !fs::exists(source.file, none))
    throw InputError({source.file},
                     "the program that the model was trained with is not there, nor is it " + source.beside,
                     {"put the program beside the weights"});
  grounding.constants = compiled ? Constants() : source.constants;
  compile::Compiled result = compile::compile_files({compiled ? source.compiled : source.file}, grounding);
  if (warnings) *warnings = std::move(result.warnings);
  return std::make_shared<compile::ConstraintProgram>(std::move(result.program));
}

std::string located_path(const std::string& written, const fs::path& folder) {
  if (written.empty()) return written;
  std::error_code none;
  fs::path beside = folder / written;
  if (fs::path(written).is_absolute() && !folder.empty() && !fs::exists(written, none))
    beside = folder / fs::path(written).filename();
  return fs::absolute(fs::exists(beside, none) ? beside : data_dir() / written).lexically_normal().string();
}

std::string portable_path(const std::string& path) {
  if (path.empty()) return path;
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path shipped = whole.lexically_relative(fs::absolute(data_dir()).lexically_normal());
  return !shipped.empty() && *shipped.begin() != ".." ? shipped.string() : whole.string();
}

}  // namespace as2::infer
