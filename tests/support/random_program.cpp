#include "support/random_program.h"

namespace as2::testing {
namespace {

std::string number(int value) {
  return std::to_string(value);
}

// Builds one program; `atoms_` are those that literals may use, choices first, definitions as they come.
class Generator {
 public:
  Generator(std::uint64_t seed, const RandomProgramOptions& options) : random_(seed), options_(options) {}

  RandomProgram generate() {
    const int choices = random_.between(1, 3);
    for (int k = 0; k < choices; ++k) add_choice(k);
    if (options_.definitions) {
      const int rules = random_.below(4);
      for (int k = 0; k < rules; ++k) add_definition(k);
      if (random_.chance(20)) add_recursion();
    }
    const int constraints = random_.between(0, 4);
    for (int k = 0; k < constraints; ++k) add_constraint();
    if (options_.objectives && random_.chance(40)) {
      const int costs = random_.between(1, 3);
      for (int k = 0; k < costs; ++k) add_objective(k);
    }
    return program_;
  }

 private:
  void add(const std::string& statement) { program_.statements.push_back(statement); }

  int room() const { return options_.max_assignments / assignments_; }

  std::string range(int low, int high) { return number(low) + ".." + number(high); }

  void add_choice(int index) {
    const int roll = random_.below(100);
    const std::string suffix = number(index);
    if (roll < 45 || index == 0) {
      add_exactly_one("p" + suffix);
    } else if (roll < 60) {
      add_free("q" + suffix);
    } else if (roll < 75) {
      add_bounded("r" + suffix);
    } else if (roll < 85) {
      add_mixed(suffix);
    } else if (roll < 90) {
      add_permutation("m" + suffix);
    } else if (options_.conditional_choices) {
      add_conditional("s" + suffix);
    } else {
      add_free("q" + suffix);
    }
  }

  void add_exactly_one(const std::string& name) {
    const int low = random_.between(-1, 1);
    const int size = random_.between(random_.chance(10) ? 1 : 2, 3);
    int count = random_.between(1, 3);
    const auto combinations = [&] {
      int product = 1;
      for (int k = 0; k < count; ++k) product *= size;
      return product;
    };
    while (count > 1 && combinations() > room()) --count;
    assignments_ *= combinations();
    if (random_.chance(20)) {
      // Irregular domains, one statement per position.
      for (int i = 1; i <= count; ++i) {
        std::string elements;
        for (int v = low; v < low + size; ++v) {
          const std::string atom = name + "(" + number(i) + "," + number(2 * v + i) + ")";
          elements += (elements.empty() ? "" : "; ") + atom;
          atoms_.push_back(atom);
        }
        add("{ " + elements + " } = 1.");
      }
    } else {
      add("{ " + name + "(I,V) : V=" + range(low, low + size - 1) + " } = 1 :- I=" + range(1, count) + ".");
      for (int i = 1; i <= count; ++i) {
        for (int v = low; v < low + size; ++v) {
          atoms_.push_back(name + "(" + number(i) + "," + number(v) + ")");
        }
      }
    }
    tables_.push_back(name);
    if (random_.chance(15)) add(random_.pick(atoms_) + ".");
  }

  std::vector<std::string> booleans(const std::string& name, int wanted) {
    int count = wanted;
    while (count > 1 && (1 << count) > room()) --count;
    assignments_ *= 1 << count;
    std::vector<std::string> result;
    for (int i = 1; i <= count; ++i) result.push_back(name + "(" + number(i) + ")");
    atoms_.insert(atoms_.end(), result.begin(), result.end());
    return result;
  }

  void add_free(const std::string& name) {
    const auto atoms = booleans(name, random_.between(1, 4));
    add("{ " + name + "(" + range(1, static_cast<int>(atoms.size())) + ") }.");
    if (random_.chance(10)) add(random_.pick(atoms) + ".");
  }

  void add_bounded(const std::string& name) {
    const int count = static_cast<int>(booleans(name, random_.between(2, 4)).size());
    const int low = random_.below(count);
    const int high = random_.between(low, count);
    const std::string body = "{ " + name + "(" + range(1, count) + ") }";
    const int form = random_.below(4);
    if (form == 0) add(number(low) + " " + body + " " + number(high) + ".");
    if (form == 1) add(body + " " + number(high) + ".");
    if (form == 2) add(number(low) + " " + body + ".");
    if (form == 3) add(body + " != " + number(low) + ".");
  }

  void add_mixed(const std::string& suffix) {
    if (room() < 4) return add_free("q" + suffix);
    assignments_ *= 4;
    add("{ red" + suffix + "(X); green" + suffix + "(X) } = 1 :- X=1..2.");
    for (const char* color : {"red", "green"}) {
      for (int x = 1; x <= 2; ++x) atoms_.push_back(color + suffix + "(" + number(x) + ")");
    }
  }

  // The same atoms in two exactly-one choices: a permutation matrix.
  void add_permutation(const std::string& name) {
    if (room() < 27) return add_free("q" + name);
    assignments_ *= 27;
    add("{ " + name + "(R,C) : C=1..3 } = 1 :- R=1..3.");
    add("{ " + name + "(R,C) : R=1..3 } = 1 :- C=1..3.");
    for (int r = 1; r <= 3; ++r) {
      for (int c = 1; c <= 3; ++c) atoms_.push_back(name + "(" + number(r) + "," + number(c) + ")");
    }
  }

  void add_conditional(const std::string& name) {
    if (room() < 4) return;
    const std::string first = name + "(1)";
    const std::string second = name + "(2)";
    switch (random_.below(6)) {
      case 0:
        add("{ " + name + "(1..2) } = 1 :- " + body(1, 2) + ".");
        break;
      case 1:
        add("{ " + first + " : " + literal() + "; " + second + " : " + literal() + " } = 1.");
        break;
      case 2:
        add("{ " + first + "; " + second + " : " + literal() + " } = 1 :- " + literal() + ".");
        break;
      case 3:
        add("{ " + name + "(1..2) } :- " + body(1, 2) + ".");
        break;
      case 4:
        add("1 { " + first + " : " + literal() + "; " + second + " } :- " + literal() + ".");
        break;
      default:
        add("{ " + name + "(1..2) } = 1 :- " + literal() + ".");
        add("{ " + first + " } :- " + literal() + ".");
    }
    assignments_ *= 4;
    atoms_.push_back(first);
    atoms_.push_back(second);
  }

  std::string literal() {
    const std::string atom = random_.pick(atoms_);
    const int roll = random_.below(20);
    return roll == 0 ? "not not " + atom : roll < 7 ? "not " + atom : atom;
  }

  std::string body(int low, int high) {
    std::string text;
    const int count = random_.between(low, high);
    for (int k = 0; k < count; ++k) text += (k > 0 ? ", " : "") + literal();
    return text;
  }

  std::string comparison() { return random_.pick<std::string>({"<", "<=", ">", ">=", "=", "!="}); }

  std::string elements() {
    std::string text;
    const int count = random_.between(2, 5);
    for (int k = 0; k < count; ++k) {
      const int weight = random_.between(-3, 4);
      text += (k > 0 ? "; " : "") + number(weight) + "," + number(random_.chance(80) ? k : 0) + " : " +
              body(1, random_.chance(15) ? 2 : 1);
    }
    return text;
  }

  // An aggregate without its bound.
  std::string aggregate() {
    const std::string table = tables_.empty() ? "" : random_.pick(tables_);
    const int roll = random_.below(table.empty() ? 4 : 10);
    switch (roll) {
      case 0:
        return "#count{ " + elements() + " }";
      case 1:
        return "#sum+{ " + elements() + " }";
      case 2:
      case 3:
        return "#sum{ " + elements() + " }";
      case 4:
      case 5:
        return "#sum{ V,I : " + table + "(I,V) }";
      case 6:
        return "#count{ V : " + table + "(I,V) }";
      case 7:
        return "#count{ I : " + table + "(I," + number(random_.between(-1, 3)) + ") }";
      case 8:
        return "#max{ V : " + table + "(I,V) }";
      default:
        return "#min{ V : " + table + "(I,V) }";
    }
  }

  std::string bounded_aggregate() {
    const int bound = random_.between(-2, 5);
    if (random_.chance(15)) return number(bound - 2) + " <= " + aggregate() + " <= " + number(bound);
    return aggregate() + " " + comparison() + " " + number(bound);
  }

  void add_definition(int index) {
    const std::string head = "d(" + number(index) + ")";
    const int roll = random_.below(10);
    if (roll < 6) {
      const int rules = random_.between(1, 3);
      for (int k = 0; k < rules; ++k) add(head + " :- " + body(1, 3) + ".");
      atoms_.push_back(head);
    } else if (roll < 8) {
      add(head + " :- " + bounded_aggregate() + (random_.chance(40) ? ", " + literal() : "") + ".");
      atoms_.push_back(head);
    } else if (!tables_.empty()) {
      const std::string name = "t" + number(index);
      add(name + "(S) :- S = #sum{ V,I : " + random_.pick(tables_) + "(I,V) }.");
      add(":- " + name + "(S), S " + comparison() + " " + number(random_.between(-1, 4)) + ", " + literal() +
          ".");
    }
  }

  void add_recursion() {
    const std::vector<std::string> members = {"e(1)", "e(2)", "e(3)"};
    const int rules = random_.between(3, 6);
    for (int k = 0; k < rules; ++k) {
      const std::string& head = random_.pick(members);
      const std::string inner = random_.chance(70) ? random_.pick(members) + ", " : "";
      add(head + " :- " + inner + literal() + ".");
    }
    for (const std::string& member : members) add(member + " :- " + body(1, 2) + ".");
    atoms_.insert(atoms_.end(), members.begin(), members.end());
  }

  void add_constraint() {
    const std::string table = tables_.empty() ? "" : random_.pick(tables_);
    const int roll = random_.below(table.empty() ? 7 : 10);
    if (roll < 3) {
      add(":- " + body(1, 4) + ".");
    } else if (roll < 5) {
      add(":- " + bounded_aggregate() + ".");
    } else if (roll < 7) {
      const std::string sign = random_.chance(20) ? "not " : "";
      add(":- " + body(1, 2) + ", " + sign + bounded_aggregate() + ".");
    } else if (roll == 7) {
      add(":- " + table + "(I,V), " + table + "(J,V), I " + (random_.chance(50) ? "<" : "!=") + " J.");
    } else if (roll == 8) {
      const std::string guard = random_.pick(tables_);
      add(":- " + guard + "(1,S), #sum{ V,I : " + table + "(I,V) } " + comparison() + " S.");
    } else {
      add(":- V=-1..3, #count{ I : " + table + "(I,V) } " + comparison() + " 1.");
    }
  }

  void add_objective(int index) {
    const std::string priority = number(random_.between(0, 2));
    const std::string tuple = random_.chance(70) ? number(index) : "0";
    const std::string weight = number(random_.between(-3, 3));
    switch (random_.below(tables_.empty() ? 3 : 4)) {
      case 0:
      case 1:
        add(":~ " + body(1, 3) + ". [" + weight + "@" + priority + "," + tuple + "]");
        break;
      case 2:
        add("#minimize{ " + weight + "@" + priority + "," + tuple + " : " + body(1, 2) + " }.");
        break;
      default:
        add("#maximize{ V@" + priority + ",I : " + random_.pick(tables_) + "(I,V) }.");
    }
  }

  Random random_;
  RandomProgramOptions options_;
  RandomProgram program_;
  std::vector<std::string> atoms_;
  std::vector<std::string> tables_;  // predicates p(I,V) with numbers
  int assignments_ = 1;
};

}  // namespace

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

int Random::below(int end) {
  return static_cast<int>(next() % static_cast<std::uint64_t>(end));
}

int Random::between(int low, int high) {
  return low + below(high - low + 1);
}

bool Random::chance(int percent) {
  return below(100) < percent;
}

std::string RandomProgram::text() const {
  std::string text;
  for (const std::string& statement : statements) text += statement + "\n";
  return text;
}

RandomProgram random_program(std::uint64_t seed, const RandomProgramOptions& options) {
  return Generator(seed, options).generate();
}

RandomProgram shrink(RandomProgram program, const std::function<bool(const RandomProgram&)>& fails) {
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (std::size_t k = program.statements.size(); k-- > 0;) {
      RandomProgram candidate = program;
      candidate.statements.erase(candidate.statements.begin() + static_cast<std::ptrdiff_t>(k));
      if (fails(candidate)) {
        program = std::move(candidate);
        smaller = true;
      }
    }
  }
  return program;
}

}  // namespace as2::testing
