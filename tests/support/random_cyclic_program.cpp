// Random programs whose rules know no order: any atom may stand in any head and any body, so that most of
// them depend on themselves, positively and through negation.
#include "support/random_program.h"

namespace as2::testing {
namespace {

std::string number(int value) {
  return std::to_string(value);
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {
    const int count = random_.between(3, 6);
    for (int k = 1; k <= count; ++k) atoms_.push_back("p(" + number(k) + ")");
    const int more = random_.between(0, 2);
    for (int k = 0; k < more; ++k) atoms_.push_back(std::string(1, static_cast<char>('q' + k)));
    if (random_.chance(25)) atoms_.push_back("-" + random_.pick(atoms_));
    count_ = count;
  }

  RandomProgram generate(bool with_show) {
    const int statements = random_.between(3, 8);
    for (int k = 0; k < statements; ++k) add_statement();
    if (random_.chance(25)) add_externals();
    if (random_.chance(20)) add_edges();
    const int constraints = random_.below(3);
    for (int k = 0; k < constraints; ++k) add_constraint();
    if (random_.chance(20) && with_show) add_shown();
    if (random_.chance(25)) {
      const int costs = random_.between(1, 2);
      for (int k = 0; k < costs; ++k) {
        add(":~ " + body(1, 2) + ". [" + number(random_.between(-2, 3)) + "@" + number(random_.below(2)) +
            "," + number(k) + "]");
      }
    }
    return program_;
  }

 private:
  void add(const std::string& statement) { program_.statements.push_back(statement); }

  const std::string& atom() { return random_.pick(atoms_); }

  std::string literal() {
    const int roll = random_.below(20);
    return (roll == 0 ? "not not " : roll < 9 ? "not " : "") + atom();
  }

  std::string body(int low, int high) {
    std::string text;
    const int count = random_.between(low, high);
    for (int k = 0; k < count; ++k) text += (k > 0 ? ", " : "") + literal();
    return text;
  }

  std::string tail(int low, int high) {
    const std::string text = body(low, high);
    return text.empty() ? "." : " :- " + text + ".";
  }

  void add_statement() {
    const int roll = random_.below(100);
    if (roll < 42) {
      add(atom() + tail(random_.chance(8) ? 0 : 1, 3));
    } else if (roll < 47) {
      const std::string head = atom();
      add(head + " :- not " + head + (random_.chance(70) ? ", " + literal() : "") + ".");
    } else if (roll < 67) {
      add_choice();
    } else if (roll < 79) {
      add_disjunction();
    } else if (roll < 87) {
      add_conditional_head();
    } else if (roll < 94) {
      add_aggregate_rule();
    } else {
      // Two defaults against each other, the commonest loop.
      const std::string a = atom();
      const std::string b = atom();
      add(a + " :- not " + b + (random_.chance(30) ? ", " + literal() : "") + ".");
      add(b + " :- not " + a + (random_.chance(30) ? ", " + literal() : "") + ".");
    }
  }

  void add_choice() {
    switch (random_.below(5)) {
      case 0:
        return add("{ " + atom() + " }" + tail(0, 2));
      case 1:
        return add("{ " + atom() + "; " + atom() + " }" + tail(0, 2));
      case 2:
        return add("{ p(1.." + number(random_.between(1, count_)) + ") } = 1" + tail(0, 1));
      case 3:
        return add("{ " + atom() + " : " + literal() + "; " + atom() + " } = 1" + tail(0, 1));
      default:
        return add("1 { " + atom() + "; " + atom() + " : " + literal() + " }" + tail(0, 1));
    }
  }

  void add_disjunction() {
    std::string heads = atom();
    const int more = random_.between(1, 2);
    for (int k = 0; k < more; ++k) heads += (random_.chance(50) ? " | " : "; ") + atom();
    add(heads + tail(0, 2));
  }

  void add_conditional_head() {
    switch (random_.below(3)) {
      case 0:
        return add("p(X) : X=" + number(random_.between(1, count_)) + tail(0, 2));
      case 1:
        return add(atom() + " : " + literal() + tail(0, 1));
      default:
        return add(atom() + " : " + literal() + "; " + atom() + tail(0, 1));
    }
  }

  std::string elements() {
    std::string text;
    const int count = random_.between(2, 3);
    for (int k = 0; k < count; ++k) {
      const std::string weight = number(random_.chance(85) ? random_.between(1, 3) : -1);
      text += (k > 0 ? "; " : "") + weight + "," + number(k) + " : " + literal();
    }
    return text;
  }

  void add_aggregate_rule() {
    const std::string relation = random_.chance(70) ? " >= " : random_.chance(50) ? " != " : " <= ";
    add(atom() + " :- " + (random_.chance(50) ? "#sum" : "#count") + "{ " + elements() + " }" + relation +
        number(random_.between(1, 3)) + (random_.chance(30) ? ", " + literal() : "") + ".");
  }

  void add_externals() {
    const std::string name = "x";
    const int roll = random_.below(3);
    add("#external x(1..2)." + std::string(roll == 0 ? "" : roll == 1 ? " [true]" : " [free]"));
    atoms_.push_back("x(1)");
    atoms_.push_back("x(2)");
    add(random_.pick<std::string>({"p(1)", "p(2)", "p(3)"}) + " :- x(" + number(random_.between(1, 2)) +
        ").");
    add(":- " + literal() + ", not x(1).");
    atoms_.resize(atoms_.size() - 2);
  }

  void add_edges() {
    const int edges = random_.between(2, 5);
    for (int k = 0; k < edges; ++k) {
      const std::string pair =
          "(" + number(random_.between(1, 3)) + "," + number(random_.between(1, 3)) + ")";
      const std::string condition = body(0, 2);
      add("#edge " + pair + (condition.empty() ? "" : " : " + condition) + ".");
    }
  }

  void add_constraint() {
    if (random_.chance(70)) return add(":- " + body(1, 3) + ".");
    add(":- #sum{ " + elements() + " } " + random_.pick<std::string>({"<", ">", "=", "!="}) + " " +
        number(random_.between(0, 3)) + ".");
  }

  void add_shown() {
    if (random_.chance(50)) add("#show p/1.");
    add("#show t(X) : p(X)" + (random_.chance(60) ? ", " + literal() : "") + ".");
  }

  Random random_;
  RandomProgram program_;
  std::vector<std::string> atoms_;
  int count_ = 0;
};

}  // namespace

RandomProgram random_cyclic_program(std::uint64_t seed, bool with_show) {
  return Generator(seed).generate(with_show);
}

}  // namespace as2::testing
