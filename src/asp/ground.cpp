#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "as2/compile.h"
#include "asp/compiled_file.h"
#include "asp/gringo.h"
#include "asp/ground_builder.h"
#include "asp/statements.h"
#include "asp/tagging.h"
#include "stop.h"
#include "text.h"

namespace as2::asp {
namespace {

constexpr const char* kGringoOutput = "(output of gringo)";

struct Grounded {
  std::string aspif;
  SourceMap map;
};

// "its constants are b, n", from the program's #const statements.
std::string constants_of(const SourceProgram& source) {
  std::string names;
  for (const auto& statement : source.statements) {
    if (statement.tokens.size() < 2 || statement.tokens[0].text != "#const") continue;
    names += (names.empty() ? "" : ", ") + std::string(statement.tokens[1].text);
  }
  return names.empty() ? "it has no #const" : "its constants are " + names;
}

// A constant that the program does not mention is most likely misspelt.
void check_constants(const SourceProgram& source, const GroundOptions& options,
                     std::vector<Warning>& warnings) {
  for (const auto& constant : options.constants) {
    const bool known =
        std::any_of(source.statements.begin(), source.statements.end(), [&](const auto& statement) {
          return std::any_of(statement.tokens.begin(), statement.tokens.end(), [&](const Token& token) {
            return token.kind == Token::Kind::kName && token.text == constant.first;
          });
        });
    if (known) continue;
    if (options.strict_constants)
      throw InputError("the program has no constant `" + constant.first + "`", {constants_of(source)});
    warnings.emplace_back();
    warnings.back().message = "constant `" + constant.first + "` (-c) does not occur in the program";
  }
}

// Whether gringo reads the token as the number it says: it has 32 bits, and wraps around silently.
bool is_read_whole(const std::vector<Token>& tokens, std::size_t index) {
  std::string_view number = tokens[index].text;
  bool negated = false;
  for (std::size_t k = index; k > 0 && token_is(tokens[k - 1], "-"); --k) negated = !negated;
  int base = 10;
  if (number.size() > 2 && number[0] == '0')
    base = number[1] == 'x' ? 16 : number[1] == 'o' ? 8 : number[1] == 'b' ? 2 : 10;
  if (base != 10) number.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value, base);
  return error == std::errc() && value <= INT32_MAX + (negated ? std::int64_t{1} : 0);
}

// Calls wrong(token) for the numbers that gringo would not read as they stand.
template <class Wrong>
void for_each_wrapped(const std::vector<Token>& tokens, const Wrong& wrong) {
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t].kind == Token::Kind::kNumber && !is_read_whole(tokens, t)) wrong(tokens[t]);
  }
}

void check_constant(const std::string& name, const std::string& value) {
  const SourceFile term("-c", value);
  Tokens tokens;
  try {
    tokens = tokenize(term);
  } catch (const InputError&) {
    return;  // gringo says what is wrong with it
  }
  for_each_wrapped(tokens.tokens, [&](const Token& number) {
    throw InputError("the number " + shortened(number.text) + " in the constant " +
                         in_quotes(name + "=" + value) + " does not fit in 32 bits",
                     {"gringo's numbers are from -2147483648 to 2147483647"});
  });
}

void check_numbers(const SourceProgram& source, const GroundOptions& options,
                   std::vector<Warning>& warnings) {
  for (const auto& [name, value] : options.constants) check_constant(name, value);
  for (const SourceStatement& statement : source.statements) {
    for_each_wrapped(statement.tokens, [&](const Token& number) {
      warnings.push_back({statement.file->location(number.begin, number.end),
                          "the number does not fit in 32 bits; gringo silently wraps it around"});
    });
  }
}

// The statement with the deepest term. An operator counts as a parenthesis does: gringo reads `1+1+1` as
// `(1+1)+1`.
struct Nesting {
  const SourceStatement* statement = nullptr;
  std::size_t depth = 0;
};

Nesting deepest_term(const SourceProgram& source) {
  constexpr std::array<std::string_view, 11> kOperators = {"-", "+", "*", "/", "\\", "**",
                                                           "^", "?", "&", "~", "|"};
  Nesting deepest;
  for (const SourceStatement& statement : source.statements) {
    std::vector<std::size_t> operators = {0};  // of each term that is open
    std::size_t depth = 0;
    for (const Token& token : statement.tokens) {
      if (token.kind != Token::Kind::kPunctuation) continue;
      if (token.text == "(") {
        operators.push_back(0);
        ++depth;
      } else if (token.text == ")" && operators.size() > 1) {
        depth -= 1 + operators.back();
        operators.pop_back();
      } else if (std::find(kOperators.begin(), kOperators.end(), token.text) != kOperators.end()) {
        ++operators.back();
        ++depth;
      } else {  // a comma, a comparison, …: the next term begins
        depth -= operators.back();
        operators.back() = 0;
      }
      if (depth > deepest.depth) deepest = {&statement, depth};
    }
  }
  return deepest;
}

// gringo reads terms by recursion, and crashes where its stack does not suffice.
std::string run_gringo_on(const SourceProgram& source, const TaggedText& text, const GroundOptions& options,
                          std::vector<Warning>& warnings) {
  try {
    return run_gringo(text, options, warnings);
  } catch (const GringoDied&) {
    constexpr std::size_t kSuspicious = 1000;
    const Nesting deepest = deepest_term(source);
    if (deepest.depth < kSuspicious) throw;
    throw InputError(deepest.statement->location(),
                     "gringo crashed, most likely at a term with " + std::to_string(deepest.depth) +
                         " nested operators and parentheses",
                     {"nest less, or give it a larger stack: ulimit -s unlimited"});
  }
}

Grounded ground_source(const SourceProgram& source, const GroundOptions& options) {
  TaggedProgram tagged = tag(source);
  check_constants(source, options, tagged.map.warnings);
  check_numbers(source, options, tagged.map.warnings);
  Grounded result;
  result.aspif = run_gringo_on(source, tagged.text, options, tagged.map.warnings);
  result.map = std::move(tagged.map);
  return result;
}

bool is_compiled(const std::string& file) {
  constexpr std::string_view kEnding = ".as2c";
  return file.size() > kEnding.size() &&
         file.compare(file.size() - kEnding.size(), kEnding.size(), kEnding) == 0;
}

void require_sources(const std::vector<std::string>& files) {
  if (files.empty()) throw InputError("no program file is given");
  for (const auto& file : files) {
    if (!is_compiled(file)) continue;
    SourceLocation place;
    place.file = file;
    throw InputError(place, "a compiled program cannot be combined with other files",
                     {"give their .lp files instead"});
  }
}

GroundProgram build(const std::string& aspif, const std::string& name, SourceMap map, const std::string& file,
                    const GroundOptions& options) {
  GroundProgram program = build_ground_program(aspif, name, std::move(map), options.size_limit);
  throw_if_stopped(options.stop, "grounding");
  program.file = file;
  free_externals(program, options.assume);
  return program;
}

std::vector<std::string> names_of(const SourceProgram& source) {
  std::vector<std::string> names;
  for (const auto& file : source.files) names.push_back(file->name());
  return names;
}

GroundProgram ground_program(const SourceProgram& source, const std::string& name,
                             const GroundOptions& options) {
  Grounded grounded = ground_source(source, options);
  GroundProgram program = build(grounded.aspif, kGringoOutput, std::move(grounded.map), name, options);
  program.files = names_of(source);
  return program;
}

}  // namespace

void free_externals(GroundProgram& program, const std::vector<std::string>& atoms) {
  for (const std::string& given : atoms) {
    const std::string name = as_printed(given);
    bool found = false;
    std::string known;
    for (External& external : program.externals) {
      const std::string& atom = program.names[external.atom];
      known += (known.empty() ? "" : ", ") + atom;
      if (atom != name) continue;
      external.value = ExternalValue::kFree;
      found = true;
    }
    if (found) continue;
    // It was named on the command line: no line of the program is to blame.
    throw InputError("`" + name + "` is not an external atom of the program, or a rule defines it",
                     {known.empty() ? "it has none that no rule defines: write `#external " + name +
                                          ".`, and no rule for it"
                                    : "it has " + known});
  }
}

GroundProgram ground(const std::vector<std::string>& files, const GroundOptions& options) {
  if (files.size() == 1 && is_compiled(files[0])) {
    if (!options.constants.empty()) {
      SourceLocation place;
      place.file = files[0];
      throw InputError(place, "the constants of a compiled program are fixed",
                       {"give its .lp file, or leave `-c " + options.constants[0].first + "=…` out"});
    }
    const std::string text = read_source(files[0]);
    return build(text, files[0], read_source_map(text, files[0]), files[0], options);
  }
  require_sources(files);
  return ground_program(read_program(files, options.includes), files[0], options);
}

GroundProgram ground_text(const std::string& text, const std::string& name, const GroundOptions& options) {
  return ground_program(read_program_text(text, name, options.includes), name, options);
}

std::string save_compiled(const std::vector<std::string>& files, const GroundOptions& options,
                          std::vector<std::string>* read) {
  require_sources(files);
  const SourceProgram source = read_program(files, options.includes);
  if (read) *read = names_of(source);
  const Grounded grounded = ground_source(source, options);
  // Throws if it cannot be read.
  build_ground_program(grounded.aspif, kGringoOutput, grounded.map, options.size_limit);
  return write_compiled(grounded.aspif, grounded.map);
}

GroundProgram load_compiled(const std::string& text, const std::string& name) {
  return build(text, name, read_source_map(text, name), name, {});
}

}  // namespace as2::asp
