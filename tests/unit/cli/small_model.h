// A text and a config small enough to train in a blink.
#pragma once
#include "run.h"

namespace wick::test {

inline std::string small_text() {
  std::string text;
  for (int i = 0; i < 60; i++)
    text += "line " + std::to_string(i * i % 37) + " of a text that repeats itself\n";
  return text;
}

inline constexpr const char* kSmallConfig =
    R"({"model_type": "llama", "vocab_size": 256, "hidden_size": 16, "intermediate_size": 24,
 "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 32})";

/// A folder with text and config, and the flags of a `wick train` of them without --out and
/// --steps.
struct SmallTraining {
  Folder folder;
  std::string text = folder.write("text", small_text());
  std::string config = folder.write("config.json", kSmallConfig);
  std::string flags =
      " --data " + text + " --config " + config + " --batch 2 --context 16 --lr 1e-2 --device cpu";

  /// The trained model's folder.
  std::string train(const std::string& name = "model", int steps = 20) const {
    const Outcome outcome =
        run("train --steps " + std::to_string(steps) + " --out " + (folder / name) + flags);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return folder / name;
  }
};

}  // namespace wick::test
