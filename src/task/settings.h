// What a run is told: a task file, a preset and the command line, laid over one another.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "as2/error.h"

namespace as2::task {

// A flat list of `section.key` settings, each with the place it came from. Later layers replace earlier ones.
// A getter gives the value or the default and remembers it, so that resolved() holds everything a run used.
class Settings {
 public:
  // Lays a TOML file over what is there; tables become dotted keys.
  void add_file(const std::string& path);
  void add_text(const std::string& text, const std::string& name);
  // Those that add_file() read.
  const std::vector<std::string>& files() const { return files_; }
  // `train.rate=1e-3`: the value as TOML, or a bare word taken as a string. No key may be given twice.
  void add_override(const std::string& assignment);
  void set(const std::string& key, nlohmann::json value);
  // Replaces the value of a setting that exists; messages go on naming the place where it was set.
  void amend(const std::string& key, nlohmann::json value) { entries_.at(key).value = std::move(value); }
  void erase(const std::string& key) { entries_.erase(key); }

  bool has(const std::string& key) const { return entries_.count(key) > 0; }
  // The value as it was written, for a setting that takes more than one kind.
  const nlohmann::json& value(const std::string& key, const nlohmann::json& fallback) {
    return fetch(key, fallback);
  }
  double number(const std::string& key, double fallback, double low, double high);
  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t low, std::int64_t high);
  bool boolean(const std::string& key, bool fallback);
  std::string text(const std::string& key, const std::string& fallback);
  // One of the words in `choices`.
  std::string choice(const std::string& key, const std::string& fallback,
                     const std::vector<std::string>& choices);
  // All under `section.` as one object; `overrides`: only what add_override() set.
  nlohmann::json section(const std::string& section, bool overrides = false);
  std::vector<std::string> texts(const std::string& key, const std::vector<std::string>& fallback);

  // Why the key, or anything under it, is not asked for, should somebody have set it.
  void without_effect(const std::string& key, const std::string& why) { reasons_[key] = why; }
  // Throws for the first setting no getter asked for: neither a mistyped key nor one without effect passes in
  // silence. `overrides`: only what add_override() set is looked at.
  void refuse_unused(bool overrides = false) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const;
  // Where the key's value was written; an empty file means the default.
  SourceLocation location(const std::string& key) const;
  // Whether add_override() set it.
  bool is_override(const std::string& key) const;

  // Every setting asked for, with the value used, as TOML.
  std::string resolved() const;

 private:
  struct Entry {
    nlohmann::json value;
    SourceLocation location;
    bool used = false, override = false;
  };
  nlohmann::json& fetch(const std::string& key, nlohmann::json fallback);

  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> reasons_;
  std::vector<std::string> files_;
};

}  // namespace as2::task
