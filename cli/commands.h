// The program's commands. Each function adds a subcommand that runs when chosen.
#pragma once

namespace CLI {
class App;
}

namespace wick::cli {

void add_devices(CLI::App& app);
void add_doctor(CLI::App& app);
void add_train(CLI::App& app);
void add_embed(CLI::App& app);
void add_generate(CLI::App& app);
void add_inspect(CLI::App& app);
void add_bench(CLI::App& app);
void add_cache(CLI::App& app);
void add_chat(CLI::App& app);
void add_completion(CLI::App& app);
void add_convert(CLI::App& app);
void add_forward(CLI::App& app);
void add_launch(CLI::App& app);
void add_logits(CLI::App& app);
void add_perplexity(CLI::App& app);
void add_quantize(CLI::App& app);
void add_rank(CLI::App& app);
void add_serve(CLI::App& app);
/// Adds tokenize and detokenize.
void add_tokenize(CLI::App& app);

}  // namespace wick::cli
