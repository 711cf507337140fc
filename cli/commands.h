// The program's commands: each adds itself to the command line and runs when it is chosen.
#pragma once

namespace CLI {
class App;
}

namespace wick::cli {

void add_devices(CLI::App& app);
void add_train(CLI::App& app);
void add_generate(CLI::App& app);

}  // namespace wick::cli
