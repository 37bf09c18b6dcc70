// The card beside a weights file: what a user of the weights needs, as JSON, parsed here and nowhere else.
//
//   version      2
//   task, preset what the weights were trained for, and with
//   weights      {sha256}: of the weights file, so that a damaged or exchanged one is noticed
//   program      {file, compiled, constants}: what to compile; {hash, symbols, families, positions, domains,
//                groups}: what that gave, for those who have no compiler of ours
//   pictures     {positions, classes, preprocessing}, or null where the network reads none
//   model        {perception, reasoner}: the network's sizes and switches
//   data         {source}: where its examples came from, which says whether each has all the pictures; the
//                rest of it is about the training
// Anything else is about the weights (seed, command, measurements) and changes nothing. What reproduces the
// training, the settings as TOML, stands in a third file of the same name: training and evaluation on a
// task's data read it, answering does not.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "infer/network_options.h"
#include "infer/program.h"
#include "infer/sizes.h"

namespace as2::infer {

// What a program compiles to, as far as a network sees it.
struct ProgramShape {
  struct Group {
    int family = 0;
    std::string kind;
    bool all_different = false;  // one slot per symbol, in which every position that has it is a member
    std::vector<int> positions;
  };
  std::string hash;
  int symbols = 0;  // of the largest domain
  std::vector<std::string> families, positions;
  std::vector<int> domains;  // [positions] symbols of each
  std::vector<Group> groups;

  static ProgramShape of(const compile::ConstraintProgram& program);
  Sizes sizes() const;
};

// Pictures are 28 × 28, grey, paper 0 and ink 1: the one preprocessing there is, written down for others.
struct CardPictures {
  std::vector<std::string> positions;  // patterns, `*` for any text
  std::vector<std::string> classes;    // named as clingo prints the symbol they show
};

struct Card {
  std::filesystem::path weights;  // the file it belongs to
  std::string task, preset;
  ProgramSource program;
  ProgramShape shape;
  CardPictures pictures;  // empty where there is no perception
  ModelOptions network;
  std::string sha256;                               // of the weights
  std::string source;                               // data.source; empty where the card says nothing of it
  nlohmann::json about = nlohmann::json::object();  // the rest

  // What the reasoner has learnt to take means over.
  Sizes trained_sizes() const;
};

// The files beside the weights: the same name with `.json` and `.toml`.
std::filesystem::path card_path(const std::filesystem::path& weights);
std::filesystem::path settings_path(const std::filesystem::path& weights);

// Reads and checks every field; InputError names the file and the field.
Card read_card(const std::filesystem::path& weights);
// Writes it beside its weights, with their checksum.
void write_card(const Card& card);

// The tensors of the card's weights; InputError unless they are those the card was written for.
formats::SafeTensorFile read_weights(const Card& card);
// InputError unless these are the bytes that the card was written for.
void check_weights(const Card& card, const std::string& bytes);
// InputError unless the network runs on `program`: a soft-tp reasoner on every program with the same
// families, a transformer on the one it was trained on, perception alone on any.
void check_program(const Card& card, const compile::ConstraintProgram& program);

// What is to be said where `program`, which the card names, is no longer what the weights were trained with;
// empty: it is.
std::string changed_program(const Card& card, const compile::ConstraintProgram& program);

// Weights by their file, by the folder of a run, by the name of a shipped model or of its task.
std::filesystem::path find_model(const std::string& given);
// The weights that ship for a task: models/TASK-best.safetensors, else the first of shipped_models().
std::filesystem::path default_model(const std::string& task);
// The weights in models/ whose cards name the task, by name.
std::vector<std::filesystem::path> shipped_models(const std::string& task);

}  // namespace as2::infer
