#include "library/errors.h"

#include <atomic>
#include <chrono>
#include <new>
#include <nlohmann/json.hpp>
#include <thread>

#include "as2/probability.h"
#include "formats/sha256.h"

namespace as2::python {
namespace {

using Json = nlohmann::json;

[[noreturn]] void report(const char* kind, const std::string& what, const SourceLocation& location = {}) {
  const Json json{
      {"kind", kind}, {"file", location.file}, {"line", location.line}, {"column", location.column}};
  throw std::runtime_error(what + "\nas2-error " + json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::atomic<bool> left{false};
std::thread::id leaver;

}  // namespace

void leave() {
  leaver = std::this_thread::get_id();
  left = true;
}

void stay_if_left() {
  if (!left || std::this_thread::get_id() == leaver) return;
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

std::int64_t number_of(const std::string& meaning) {
  return std::stoll(formats::sha256(meaning).substr(0, 15), nullptr, 16);
}

void rethrow() {
  try {
    throw;
  } catch (const prob::CircuitTooLarge& error) {
    report("CircuitTooLarge", error.what(), error.location());
  } catch (const InputError& error) {
    report("InputError", error.what(), error.location());
  } catch (const EnvironmentError& error) {
    report("EnvironmentError", error.what());
  } catch (const UsageError& error) {
    report("InputError", std::string("error: ") + error.what());
  } catch (const ContractError& error) {
    report("ContractError", error.what());
  } catch (const std::bad_alloc&) {
    report("MemoryError", "out of memory");
  }
}

}  // namespace as2::python
