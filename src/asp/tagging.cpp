// Two passes over the statements: the first finds which predicates are chosen, the second writes each
// statement with its tag. A statement whose brackets do not match is handed on as it is: gringo says what is
// wrong with it.

#include "asp/tagging.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "asp/anatomy.h"

namespace as2::asp {
namespace {

[[noreturn]] void refuse(const SourceStatement& statement, const std::string& construct,
                         const std::string& remedy) {
  throw InputError(statement.location(), construct, {remedy});
}

// True if the token can end a term, so that `&` behind it is the bitwise operator.
bool ends_term(const Token& token) {
  return token.kind == Token::Kind::kVariable || token.kind == Token::Kind::kNumber ||
         token.kind == Token::Kind::kString || token_is(token, ")") || token_is(token, "|") ||
         token_is(token, "#inf") || token_is(token, "#sup") ||
         (token.kind == Token::Kind::kName && !token_is(token, "not"));
}

// `#program base.`, or the same with empty brackets.
bool names_base(const TokenList& tokens) {
  const bool brackets = tokens.size() == 5 && token_is(tokens[2], "(") && token_is(tokens[3], ")");
  return (tokens.size() == 3 || brackets) && token_is(tokens[1], "base");
}

void refuse_unsupported(const SourceStatement& statement) {
  const auto& tokens = statement.tokens;
  const Token& first = tokens.front();
  static const std::map<std::string_view, const char*> kRemedies = {
      {"#theory", "write the condition with `#sum` or `#count`"},
      {"#disjoint", "write the condition with `#count`"},
  };
  if (const auto found = kRemedies.find(first.text); found != kRemedies.end()) {
    refuse(statement, "`" + std::string(first.text) + "` is not supported", found->second);
  }
  if (token_is(first, "#program") && !names_base(tokens)) {
    refuse(statement, "`" + statement.text() + "`: program parts other than `base` are not supported",
           "clingo by itself grounds only `base`: without this part the program means the same; to have the "
           "part's statements count, move them into `base` and give its parameters by `#const`");
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (token_is(tokens[i], "&") && (i == 0 || !ends_term(tokens[i - 1]))) {
      refuse(statement, "theory atoms (`&…`) are not supported",
             "write the condition with `#sum` or `#count`");
    }
    if (tokens[i].kind == Token::Kind::kScript) {
      refuse(statement, "`#script` is not supported", "compute the values beforehand and give them as facts");
    }
    if (token_is(tokens[i], "$")) {
      refuse(statement, "constraint terms (`$…`) are not supported",
             "choose the value by a rule `{ value(X,V) : V=1..9 } = 1 :- variable(X).`");
    }
  }
}

// The statements that are rules, by their first token: all but the directives.
bool is_rule(const SourceStatement& statement) {
  static const std::set<std::string_view> kHeads = {
      "#true", "#false", "#count", "#sum", "#sum+", "#min", "#max", "#inf", "#sup", "#infimum", "#supremum"};
  const Token& first = statement.tokens.front();
  if (token_is(first, ":~")) return false;
  return first.kind != Token::Kind::kDirective || kHeads.count(first.text) > 0;
}

class Tagger {
 public:
  explicit Tagger(const SourceProgram& program) : program_(program) {}

  TaggedProgram run() {
    for (const auto& statement : program_.statements) {
      refuse_unsupported(statement);
      if (!is_rule(statement) || !is_balanced(statement)) continue;
      const RuleParts parts = rule_parts(statement.tokens);
      if (parts.form == HeadForm::kChoice) chosen_.insert(parts.signatures.begin(), parts.signatures.end());
    }
    for (const auto& statement : program_.statements) {
      source_ = &statement;
      write();
      insert("\n");
    }
    for (const auto& place : program_.repeated_includes) {
      result_.map.warnings.push_back({place, "this file is included already"});
    }
    give_names();
    return std::move(result_);
  }

 private:
  static bool is_balanced(const SourceStatement& statement) {
    return balanced(statement.tokens, {0, statement.tokens.size()});
  }

  const TokenList& tokens() const { return source_->tokens; }

  void insert(const std::string& text) {
    result_.text.insert(text, *source_->file, tokens()[anchor_].begin, tokens().back().end);
  }

  void copy(Range range) {
    if (range.empty()) return;
    result_.text.copy(*source_->file, tokens()[range.begin].begin, tokens()[range.end - 1].end);
    anchor_ = range.begin;
  }

  void copy_all() { copy({0, tokens().size()}); }

  // Records the statement; the result is its number k.
  std::string add(StatementKind kind, std::vector<std::string> heads = {}) {
    Statement statement;
    statement.kind = kind;
    statement.location = source_->location();
    statement.text = source_->text();
    statement.heads = std::move(heads);
    if (source_->comment.find('\n') == std::string_view::npos) statement.name = std::string(source_->comment);
    result_.map.statements.push_back(std::move(statement));
    return std::to_string(result_.map.statements.size() - 1);
  }

  void write() {
    anchor_ = 0;
    if (!is_balanced(*source_)) return copy_all();
    const Token& first = tokens().front();
    if (is_rule(*source_)) {
      write_rule();
    } else if (token_is(first, ":~")) {
      write_weak();
    } else if (token_is(first, "#minimize") || token_is(first, "#minimise")) {
      write_objective("", "");
    } else if (token_is(first, "#maximize") || token_is(first, "#maximise")) {
      write_objective("-(", ")");
    } else if (token_is(first, "#show")) {
      write_show();
    } else if (token_is(first, "#heuristic") || token_is(first, "#project")) {
      result_.map.warnings.push_back(
          {source_->location(), "`" + std::string(first.text) + "` has no effect here and is ignored"});
    } else if (token_is(first, "#external")) {
      add(StatementKind::kExternal, external_signatures(tokens()));
      copy_all();
    } else if (token_is(first, "#edge")) {
      add(StatementKind::kEdge);
      copy_all();
    } else {
      copy_all();
    }
  }

  void write_rule() {
    const RuleParts parts = rule_parts(tokens());
    switch (parts.form) {
      case HeadForm::kNone:
        insert(tag_atom(kConstraintTag, add(StatementKind::kConstraint)));
        return copy({parts.head.end, tokens().size()});
      case HeadForm::kLiteral:
        return write_literal_head(parts);
      case HeadForm::kChoice:
        return write_guarded(parts, kChoiceTag, StatementKind::kChoice);
      case HeadForm::kAtom:
      case HeadForm::kDisjunction:
        break;
    }
    for (const auto& signature : parts.signatures) {
      if (chosen_.count(signature) > 0) return write_guarded(parts, kClueTag, StatementKind::kClue);
    }
    // Facts need no name: nothing goes wrong with them.
    if (!parts.body.empty() || parts.form == HeadForm::kDisjunction)
      add(StatementKind::kRule, parts.signatures);
    copy_all();
  }

  // `not a :- body.` and `X < 3 :- body.` are constraints: the head, negated, joins the body.
  void write_literal_head(const RuleParts& parts) {
    Range head = parts.head;
    insert(tag_atom(kConstraintTag, add(StatementKind::kConstraint)) + " :- ");
    const bool doubly_negated =
        head.size() > 2 && token_is(tokens()[head.begin], "not") && token_is(tokens()[head.begin + 1], "not");
    if (doubly_negated) {
      ++head.begin;
    } else {
      insert("not ");
    }
    copy(head);
    if (!parts.body.empty()) insert("; ");
    copy(parts.body);
    insert(".");
  }

  // `;` and not `,`: behind a conditional literal a comma would continue its condition.
  void write_guarded(const RuleParts& parts, const char* tag, StatementKind kind) {
    const std::string atom = tag_atom(tag, add(kind, parts.signatures));
    copy(parts.head);
    insert(" :- ");
    copy(parts.body);
    insert((parts.body.empty() ? "" : "; ") + atom + ".\n#external " + atom + ".");
  }

  void write_weak() {
    const std::string k = add(StatementKind::kWeak);
    copy_all();
    const std::size_t dot = find_outside(tokens(), {0, tokens().size()}, ".");
    if (dot == kNowhere || dot + 2 >= tokens().size()) return;
    write_cost(k, {dot + 2, tokens().size() - 1}, {1, dot}, "", "");
  }

  void write_objective(const std::string& before_weight, const std::string& behind_weight) {
    const std::string k = add(StatementKind::kMinimize);
    copy_all();
    if (tokens().size() < 4 || !token_is(tokens()[1], "{")) return;
    for (const Range element : split_outside(tokens(), inside(tokens(), 1), ";")) {
      const std::size_t colon = find_outside(tokens(), element, ":");
      const Range tuple{element.begin, colon == kNowhere ? element.end : colon};
      const Range condition = colon == kNowhere ? Range{} : Range{colon + 1, element.end};
      write_cost(k, tuple, condition, before_weight, behind_weight);
    }
  }

  void write_cost(const std::string& k, Range tuple, Range body, const std::string& before_weight,
                  const std::string& behind_weight) {
    const CostParts parts = cost_parts(tokens(), tuple);
    if (!parts.complete()) return;
    insert("\n" + std::string(kCostTag) + "(" + k + "," + before_weight);
    copy(parts.weight);
    insert(behind_weight + (parts.priority.empty() ? ",0" : ","));
    copy(parts.priority);
    for (const Range term : parts.terms) {
      insert(",");
      copy(term);
    }
    write_twin_body(body);
  }

  void write_twin_body(Range body) {
    insert(body.empty() ? ")" : ") :- ");
    copy(body);
    insert(".");
  }

  void write_show() {
    SourceMap& map = result_.map;
    const Range term{1, tokens().size() - 1};
    if (term.empty()) {
      map.show_all = false;
      return;
    }
    const std::size_t name = token_is(tokens()[1], "-") ? 2 : 1;
    if (term.end == name + 3 && tokens()[name].kind == Token::Kind::kName &&
        token_is(tokens()[name + 1], "/") && tokens()[name + 2].kind == Token::Kind::kNumber) {
      map.show_all = false;
      map.shown_signatures.push_back((name == 2 ? "-" : "") + std::string(tokens()[name].text) + "/" +
                                     std::string(tokens()[name + 2].text));
      map.shown_places.push_back(source_->location());
      return;
    }
    const std::size_t colon = find_outside(tokens(), term, ":");
    const Range shown{term.begin, colon == kNowhere ? term.end : colon};
    if (find_outside(tokens(), shown, ",") != kNowhere) return copy_all();
    insert(std::string(kShowTag) + "(" + add(StatementKind::kShow) + ",");
    copy(shown);
    write_twin_body(colon == kNowhere ? Range{} : Range{colon + 1, term.end});
  }

  static std::string tag_atom(const char* tag, const std::string& k) {
    return std::string(tag) + "(" + k + ")";
  }

  // Constraints get their names first, so that a comment behind a choice cannot take one of them.
  void give_names() {
    std::map<std::string, int> taken;
    for (const bool constraints : {true, false}) {
      for (auto& statement : result_.map.statements) {
        if ((statement.kind == StatementKind::kConstraint) != constraints) continue;
        if (statement.name.empty()) {
          statement.name = kind_name(statement.kind) + ("@" + std::to_string(statement.location.line));
        }
        std::string unique = statement.name;
        int& uses = taken[unique];
        while (++uses > 1 && !taken.emplace(unique = statement.name + "#" + std::to_string(uses), 1).second) {
        }
        statement.name = unique;
      }
    }
  }

  const SourceProgram& program_;
  const SourceStatement* source_ = nullptr;
  std::size_t anchor_ = 0;
  std::set<std::string> chosen_;
  TaggedProgram result_;
};

}  // namespace

const char* kind_name(StatementKind kind) {
  for (const auto& [value, name] : kKindNames) {
    if (value == kind) return name;
  }
  throw_contract_error("kind", __FILE__, __LINE__, "a statement of the source was expected");
}

TaggedProgram tag(const SourceProgram& program) {
  return Tagger(program).run();
}

}  // namespace as2::asp
