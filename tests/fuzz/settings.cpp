// Tasks, presets and settings as TOML, and what a run writes down of them.
#include "task/settings.h"

#include "fuzz/fuzz.h"
#include "infer/network_options.h"

AS2_FUZZ(bytes) {
  using as2::fuzz::refused_or_read;
  refused_or_read([&] {
    as2::task::Settings settings;
    settings.add_text(bytes, "fuzz.toml");
    settings.text("name", "");
    settings.integer("train.batch", 1, 1, 1000);
    settings.number("train.rate", 1e-3, 0, 1);
    settings.boolean("data.symmetries", false);
    settings.texts("images.positions", {});
    settings.section("model.reasoner");
    as2::task::Settings().add_text(settings.resolved(), "again.toml");
    settings.refuse_unused();
  });
  refused_or_read([&] {
    try {
      as2::task::Settings().add_override(bytes);
    } catch (const as2::UsageError&) {  // no `=`: said to who typed it
    }
  });
}
