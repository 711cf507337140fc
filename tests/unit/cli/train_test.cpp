// wick train from outside: the files that it leaves, how it is stopped and goes on, and its errors.
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "small_model.h"
#include "wick/io/json.h"
#include "wick/io/safetensors.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;

int files_in(const std::string& folder) {
  return fs::exists(folder)
             ? int(std::distance(fs::directory_iterator(folder), fs::directory_iterator()))
             : 0;
}

TEST(Train, LeavesAModelThatHasLearnt) {
  const SmallTraining small;
  const Outcome outcome = run("train --steps 60 --out " + (small.folder / "m") + small.flags);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "step 60 of 60  loss ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "held-out loss: ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "* training loss, nats a byte   o held out")) << outcome.out;
  EXPECT_EQ(files_in(small.folder / "m"), 5);
  EXPECT_TRUE(begins(bytes_of(small.folder / "m/loss.svg"), "<svg "));
  const SafetensorsReader model(small.folder / "m");
  EXPECT_EQ(model.metadata().at("format"), "pt");
  EXPECT_EQ(model.tensors().at("model.layers.1.self_attn.k_proj.weight").shape, Shape({8, 16}));
}

TEST(Train, SavesTheModelUnderTheNamesOfItsFamily) {
  const SmallTraining small;
  const struct {
    std::string model_type, keys, name;
    Shape shape;
  } rows[] = {
      {"mixtral",
       R"("num_local_experts": 4, "num_experts_per_tok": 2)",
       "model.layers.1.block_sparse_moe.experts.3.w2.weight",
       {16, 24}},
      {"granitemoe",
       R"("num_local_experts": 4, "num_experts_per_tok": 2)",
       "model.layers.1.block_sparse_moe.input_linear.weight",
       {4, 48, 16}},
      {"qwen2_moe",
       R"("num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 8,
                       "shared_expert_intermediate_size": 12)",
       "model.layers.1.mlp.experts.3.gate_proj.weight",
       {8, 16}},
      {"phi3", R"("sliding_window": null)", "model.layers.1.self_attn.qkv_proj.weight", {32, 16}},
      {"phi", R"("qk_layernorm": true)", "model.layers.1.self_attn.k_layernorm.bias", {8}},
  };
  for (const auto& [model_type, keys, name, shape] : rows) {
    SCOPED_TRACE(model_type);
    std::string config = kSmallConfig;
    config.replace(config.find("llama"), 5, model_type).replace(0, 1, "{" + keys + ", ");
    const std::string out = small.folder / model_type;
    const Outcome outcome =
        run("train --steps 2 --batch 2 --context 16 --device cpu --data " + small.text + " --out " +
            out + " --config " + small.folder.write("config.json", config));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const SafetensorsReader model(out + "/model.safetensors");
    ASSERT_EQ(model.tensors().count(name), 1u);
    EXPECT_EQ(model.tensors().at(name).shape, shape);
    const Outcome read = run("perplexity --device cpu -m " + out + " " + small.text);
    EXPECT_EQ(read.code, 0) << read.err;
  }
}

TEST(Train, WithoutFontsTheCurveIsDrawnToo) {
  const SmallTraining small;
  const std::string fonts =
      small.folder.write("fonts.conf", "<fontconfig><dir>/nonexistent</dir></fontconfig>");
  for (const std::string& file : {fonts, std::string("/nonexistent/fonts.conf")}) {
    const std::string out = small.folder / std::to_string(file.size());
    const Outcome outcome =
        run("train --steps 2 --out " + out + small.flags, "FONTCONFIG_FILE=" + file);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GT(bytes_of(out + "/loss.svg").size(), 1000u);
  }
}

TEST(Train, JsonIsOneLineOfIt) {
  const SmallTraining small;
  const Outcome outcome =
      run("train --steps 60 --json --out " + (small.folder / "m") + small.flags);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << outcome.out;
  const Settings result = parse_json(outcome.out, "stdout");
  EXPECT_EQ(result.integer("steps"), 60);
  EXPECT_LT(result.real("held_out_loss"), 3.5);  // of ln 256 = 5.5
  EXPECT_FALSE(result.flag_or("interrupted", true));
}

TEST(Train, TheSameSeedGivesTheSameModelAndAnotherAnother) {
  const SmallTraining small;
  const std::string a = bytes_of(small.train("a", 5) + "/model.safetensors");
  EXPECT_EQ(bytes_of(small.train("b", 5) + "/model.safetensors"), a);
  run("train --steps 5 --seed 2 --out " + (small.folder / "c") + small.flags);
  EXPECT_NE(bytes_of(small.folder / "c/model.safetensors"), a);
}

/// Starts `wick ARGUMENTS`, its stderr in a file, and gives its process.
pid_t start(const std::string& arguments, const std::string& err_file) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string command =
        "exec '" WICK_PROGRAM "' " + arguments + " > /dev/null 2> " + err_file;
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  return child;
}
bool appears(const std::string& file, const std::string& part) {
  for (int i = 0; i < 3000; i++) {
    if (contains(bytes_of(file), part)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(Train, DeterministicAddsInAnotherOrderOnACard) {
  const SmallTraining small;
  const std::string flags = "train --steps 2 --device emu:32 --batch 2 --context 16 --data " +
                            small.text + " --config " + small.config + " --out ";
  const auto model_of = [&](const std::string& name, const char* more) {
    const Outcome outcome = run(flags + (small.folder / name) + more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return bytes_of(small.folder / (name + "/model.safetensors"));
  };
  const std::string one = model_of("one", " --deterministic");
  EXPECT_EQ(model_of("two", " --deterministic"), one);
  EXPECT_NE(model_of("three", ""), one);  // the emulator's atomics do not run in the ids' order
}

TEST(Train, CtrlCSavesAndResumingGivesTheSameModelToTheByte) {
  const SmallTraining small;
  const std::string straight = small.train("straight", 400);
  const std::string stopped = small.folder / "stopped", err = small.folder / "err";
  const pid_t child = start("train --steps 400 --out " + stopped + small.flags, err);
  EXPECT_TRUE(appears(err, "step  20 of 400")) << bytes_of(err);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130) << bytes_of(err);
  EXPECT_TRUE(contains(bytes_of(err), "interrupted after step ")) << bytes_of(err);
  EXPECT_EQ(files_in(stopped), 5);
  EXPECT_NE(bytes_of(stopped + "/model.safetensors"), bytes_of(straight + "/model.safetensors"));
  const Outcome outcome = run("train --resume " + stopped + " --device cpu");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* file : {"/model.safetensors", "/training.safetensors", "/config.json"})
    EXPECT_TRUE(bytes_of(stopped + file) == bytes_of(straight + file)) << file;
}

TEST(Train, ACheckpointIsWhatAnInterruptedRunGoesOnFrom) {
  const SmallTraining small;
  const std::string straight = small.train("straight", 30), killed = small.folder / "killed";
  const std::string err = small.folder / "err";
  const pid_t child =
      start("train --steps 30 --checkpoint-every 7 --out " + killed + small.flags, err);
  while (!fs::exists(killed + "/config.json") && waitpid(child, nullptr, WNOHANG) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const Outcome outcome = run("train --resume " + killed + " --device cpu");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(bytes_of(killed + "/training.safetensors") ==
              bytes_of(straight + "/training.safetensors"));
}

int code_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Waits until the folder holds a whole save, while the process lives.
bool is_saved(const std::string& folder, pid_t child) {
  siginfo_t ended{};
  while (!fs::exists(folder + "/config.json") && ended.si_pid == 0) {
    waitid(P_PID, id_t(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ended.si_pid == 0;
}

TEST(Train, ACheckpointIsDueAfterATimeToo) {
  const SmallTraining small;
  const std::string killed = small.folder / "killed", err = small.folder / "err";
  const pid_t child =
      start("train --steps 2000000 --checkpoint-minutes 0.001 --out " + killed + small.flags, err);
  EXPECT_TRUE(is_saved(killed, child)) << bytes_of(err);
  kill(child, SIGKILL);
  EXPECT_EQ(code_of(child), 128 + SIGKILL) << bytes_of(err);
  EXPECT_TRUE(fs::exists(killed + "/training.safetensors"));
}

TEST(Train, AClosedTerminalSavesHoweverOftenItSaysSo) {
  const SmallTraining small;
  const std::string out = small.folder / "m", err = small.folder / "err";
  const pid_t child = start("train --steps 2000000 --out " + out + small.flags, err);
  EXPECT_TRUE(appears(err, "texts: ")) << bytes_of(err);
  for (int i = 0; i < 3; i++) kill(child, SIGHUP);
  EXPECT_EQ(code_of(child), 130) << bytes_of(err);
  EXPECT_EQ(files_in(out), 5);
  EXPECT_TRUE(contains(bytes_of(err), "interrupted after step ")) << bytes_of(err);
}

TEST(Train, NohupStaysInForce) {
  const SmallTraining small;
  const std::string out = small.folder / "m", err = small.folder / "err";
  signal(SIGHUP, SIG_IGN);
  const pid_t child = start("train --steps 3000 --out " + out + small.flags, err);
  signal(SIGHUP, SIG_DFL);
  EXPECT_TRUE(appears(err, "texts: ")) << bytes_of(err);
  kill(child, SIGHUP);
  EXPECT_EQ(code_of(child), 0) << bytes_of(err);
}

TEST(Train, AReaderThatGoesAwaySaves) {
  const SmallTraining small;
  for (const std::string redirection : {"2>&1 >/dev/null", "2>/dev/null", "2>&1"}) {
    const std::string out = small.folder / std::to_string(redirection.size());
    const std::string command = "{ '" WICK_PROGRAM "' train --steps 2000000 --json --out " + out +
                                small.flags + " " + redirection + "; echo $? > " + out +
                                ".code; } | sleep 0.3";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(bytes_of(out + ".code"), "130\n") << redirection;
    EXPECT_EQ(files_in(out), 5) << redirection;
  }
}

TEST(Train, ATerminalThatGoesAwayUnderASessionWithoutItSaves) {
  const SmallTraining small;
  const std::string out = small.folder / "m";
  int terminal = -1, other = -1;
  ASSERT_EQ(openpty(&terminal, &other, nullptr, nullptr, nullptr), 0);
  const pid_t child = fork();
  if (child == 0) {
    setsid();  // the terminal controls another session, so no SIGHUP comes
    dup2(other, STDERR_FILENO);
    close(terminal);
    close(other);
    const std::string command =
        "exec '" WICK_PROGRAM "' train --steps 2000000 --out " + out + small.flags + " > /dev/null";
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(other);
  char first;
  EXPECT_EQ(read(terminal, &first, 1), 1);
  close(terminal);
  EXPECT_EQ(code_of(child), 130);
  EXPECT_EQ(files_in(out), 5);
}

TEST(Train, TheSecondOfTwoIntoOneFolderIsRefused) {
  const SmallTraining small;
  const std::string out = small.folder / "m", err = small.folder / "err";
  const pid_t child =
      start("train --steps 2000000 --checkpoint-every 1 --out " + out + small.flags, err);
  EXPECT_TRUE(appears(err, "texts: ")) << bytes_of(err);
  const std::string locked = out + ": another training run writes into this folder: process " +
                             std::to_string(child) + "\n";
  EXPECT_TRUE(is_saved(out, child)) << bytes_of(err);
  expect_bad_input(run("train --resume " + out), locked);
  kill(child, SIGKILL);
  EXPECT_EQ(code_of(child), 128 + SIGKILL);
  // The lock's file stays, the lock does not; neither does a part file.
  EXPECT_TRUE(fs::exists(out + "/training.lock"));
  small.folder.write("m/training.safetensors.part-1-0", "of a dead process");
  const pid_t again = start("train --resume " + out + " --device cpu", err);
  EXPECT_TRUE(appears(err, "from step ")) << bytes_of(err);
  kill(again, SIGINT);
  EXPECT_EQ(code_of(again), 130) << bytes_of(err);
  EXPECT_EQ(files_in(out), 5);
}

TEST(Train, TwoThatStartAtOnceAreOneAndARefusal) {
  const SmallTraining small;
  const std::string flags = "train --steps 20 --out " + (small.folder / "m") + small.flags;
  const pid_t one = start(flags + " --seed 1", small.folder / "1"),
              two = start(flags + " --seed 2", small.folder / "2");
  const int first = code_of(one), second = code_of(two);
  EXPECT_EQ(std::min(first, second), 0) << bytes_of(small.folder / "1");
  EXPECT_EQ(std::max(first, second), 2) << bytes_of(small.folder / "2");
  EXPECT_EQ(files_in(small.folder / "m"), 5);
}

TEST(Train, ResumedOnAnotherInstructionSetItSaysThatTheBytesDiffer) {
  const SmallTraining small;
  const Outcome begun =
      run("train --steps 3 --out " + (small.folder / "m") + small.flags, "WICK_CPU=baseline");
  EXPECT_EQ(begun.code, 0) << begun.err;
  const std::string resume = "train --resume " + (small.folder / "m") + " --device ";
  const Outcome same = run(resume + "cpu", "WICK_CPU=baseline");
  EXPECT_EQ(same.code, 0);
  EXPECT_FALSE(contains(same.err, "warning")) << same.err;
  const Outcome other = run(resume + "emu:32");
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_TRUE(contains(other.err,
                       "m/training.safetensors: steps were computed on x86-64-v2, this run is on "
                       "wave32, which rounds differently"))
      << other.err;
}

TEST(Train, AFullDiskIsOneLineAndNoHalfFile) {
  const SmallTraining small;
  // A limit on the size of files stands in for it: no more than 1 KiB each.
  const Outcome outcome = run("train --steps 2 --out " + (small.folder / "m") + small.flags,
                              "trap '' XFSZ; ulimit -f 1;");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.err, "wick: " + (small.folder / "m/training.safetensors") +
                             ": cannot be written: File too large\n")
      << "and no step";
  EXPECT_EQ(files_in(small.folder / "m"), 0);
}

TEST(TrainBadInput, Texts) {
  const SmallTraining small;
  const std::string rest = " --steps 2 --device cpu --out " + (small.folder / "m");
  expect_bad_input(run("train --data /nonexistent.txt" + rest),
                   "/nonexistent.txt: no such file or folder");
  expect_bad_input(run("train --data " + small.folder.write("empty", "") + rest),
                   "empty: the text is empty");
  expect_bad_input(
      run("train --context 128 --data " + small.folder.write("short", "too short") + rest),
      "the texts hold 8 bytes to train on, less than the context 128");
  fs::create_directory(small.folder / "none");
  expect_bad_input(run("train --data " + (small.folder / "none") + rest),
                   "none: the folder holds no files");
  expect_bad_input(run("train" + rest), "--data: expected a file or folder of text");
  EXPECT_FALSE(fs::exists(small.folder / "m"));
}

TEST(TrainBadInput, Configs) {
  const SmallTraining small;
  const std::string rest =
      " --steps 2 --device cpu --data " + small.text + " --out " + (small.folder / "m");
  const auto with = [&](const std::string& text) {
    return run("train --context 16 --config " + small.folder.write("c.json", text) + rest);
  };
  expect_bad_input(run("train --config /nonexistent.json" + rest),
                   "/nonexistent.json: no such file");
  expect_bad_input(with("{"), "c.json: expected JSON: ");
  expect_bad_input(with("{\"model_type\": \"gpt9\"}"),
                   "c.json: \"model_type\": expected \"llama\", ");
  std::string text = kSmallConfig;
  expect_bad_input(
      with(text.replace(text.find("256"), 3, "\"many\"")),
      "c.json: \"vocab_size\": expected an integer of at least 1, got the string \"many\"");
  text = kSmallConfig;
  expect_bad_input(with(text.replace(text.find("256"), 3, "300")),
                   "\"vocab_size\": expected 256, a token per byte, got 300");
  text = kSmallConfig;
  expect_bad_input(with(text.replace(text.find("layers\": 2"), 10, "layers\": 2147483647")),
                   "\"num_hidden_layers\": expected at most 65536, got 2147483647");
  text = kSmallConfig;
  expect_bad_input(with(text.replace(text.find(": 16"), 4, ": 1073741824")
                            .replace(text.find(": 24"), 4, ": 2147483647")
                            .replace(text.find("layers\": 2"), 10, "layers\": 65536")),
                   "config: the sizes give more than 2^60 weights");
  text = kSmallConfig;
  expect_bad_input(
      with(text.replace(text.find("llama"), 5, "qwen2").replace(0, 1, R"({"is_causal": false, )")),
      "c.json: \"is_causal\": expected true, as the model learns to predict the next "
      "byte, got false");
  expect_bad_input(run("train --context 64 --config " + small.config + rest),
                   "\"max_position_embeddings\": expected at least the context 64, got 32");
  EXPECT_FALSE(fs::exists(small.folder / "m"));
}

TEST(TrainBadInput, Flags) {
  const SmallTraining small;
  const std::string rest = small.flags + " --out " + (small.folder / "m");
  expect_bad_input(run("train --steps 0" + rest),
                   "--steps: expected an integer from 1 to 2147483647, got 0");
  expect_bad_input(run("train --valid-fraction 1" + rest),
                   "--valid-fraction: expected a number of at least 0 and below 1, got 1");
  expect_bad_input(run("train --checkpoint-every -1" + rest),
                   "--checkpoint-every: expected an integer from 0 to 2147483647, got -1");
  expect_bad_input(run("train --steps many" + rest), "--steps");
  expect_bad_input(run("train --steps 2" + small.flags), "--out: expected a folder for the model");
  expect_bad_input(run("train --resume x --steps 2"), "excludes --");
  const std::string done = small.train();
  expect_bad_input(run("train --steps 2 --out " + done + small.flags),
                   "the folder already holds a model; --resume continues it");
  expect_bad_input(run("train --checkpoint-minutes -1" + rest),
                   "--checkpoint-minutes: expected a number of at least 0, got -1");
}

TEST(TrainBadInput, ModelsThatWouldBeOverwritten) {
  const SmallTraining small;
  const std::string one = small.train("one", 2), other = small.train("other", 3);
  const std::string before = bytes_of(other + "/training.safetensors");
  expect_bad_input(run("train --resume " + one + " --out " + other), "already holds a model");
  EXPECT_TRUE(bytes_of(other + "/training.safetensors") == before);
  fs::create_directory(small.folder / "downloaded");
  const std::string model = small.folder.write("downloaded/model.safetensors", "of somebody");
  expect_bad_input(run("train --steps 2 --out " + (small.folder / "downloaded") + small.flags),
                   "already holds a model, which no training run has saved");
  EXPECT_EQ(bytes_of(model), "of somebody");
}

TEST(TrainBadInput, NumbersBeyondTheirRange) {
  const SmallTraining small;
  const std::string rest = " --data " + small.text + " --device cpu --out " + (small.folder / "m");
  const auto refused = [&](const std::string& flag, const std::string& value) {
    expect_bad_input(run("train " + flag + " " + value + rest), flag + ": expected a");
  };
  for (const char* flag : {"--steps", "--batch", "--context", "--checkpoint-every"})
    for (const char* value : {"-1", "1.5", "2147483648", "100000000000", "1000000000000",
                              "99999999999999999999", "1e3", "''"})
      refused(flag, value);
  for (const char* value : {"-1", "18446744073709551616", "x"}) refused("--seed", value);
  for (const char* flag : {"--lr", "--weight-decay", "--valid-fraction"})
    for (const char* value : {"-0.1", "nan", "inf", "1e999"}) refused(flag, value);
  EXPECT_FALSE(fs::exists(small.folder / "m"));
}

TEST(TrainBadInput, AnOutThatIsNoFolder) {
  const SmallTraining small;
  for (const std::string& out : {small.text, std::string("/dev/null")})
    expect_bad_input(run("train --steps 2 --out " + out + small.flags),
                     out + ": expected a folder for the model, got a file");
  EXPECT_EQ(bytes_of(small.text), small_text());
}

TEST(TrainBadInput, ARateThatIsTooHigh) {
  const SmallTraining small;
  const std::string out = small.folder / "plan.rate";  // a name of the library's in a path stays
  const std::string rest =
      " --steps 40 --lr 1e38 --context 16 --device cpu --data " + small.text + " --out " + out;
  const Outcome outcome = run("train --config " + small.config + rest);
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(contains(outcome.err, "\nwick: train: the loss of step ")) << outcome.err;
  EXPECT_TRUE(outcome.err.ends_with(" is not finite; a --lr below 1e+38 may help\n"))
      << outcome.err;
  EXPECT_EQ(files_in(out), 0);
  small.folder.write("plan.rate/training.safetensors", "of another run");
  expect_bad_input(run("train --config " + small.config + rest),
                   out + ": the folder already holds a model; --resume continues it\n");
}

TEST(TrainFails, WhereAStepTakesMoreMemoryThanThereIs) {
  const SmallTraining small;
  const std::string rest = " --data " + small.text + " --device cpu --out " + (small.folder / "m");
  for (const char* flags : {"--batch 2000000000", "--context 2000000000"}) {
    const Outcome outcome = run(std::string("train --steps 2 ") + flags + rest);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, " bytes take at least ")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, " GiB on cpu, which has ")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
  EXPECT_FALSE(fs::exists(small.folder / "m"));
}

TEST(TrainFails, WhereAFileOfTheModelIsToBeSomethingElseIs) {
  const SmallTraining small;
  for (const std::string file : {"model.safetensors", "config.json", "loss.svg"}) {
    const std::string out = small.folder / ("of-" + file);
    fs::create_directories(out + "/" + file);
    const Outcome outcome = run("train --steps 2 --out " + out + small.flags);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.err,
              "wick: " + out + "/" + file + ": cannot be replaced: not a regular file\n")
        << "and no step";
    EXPECT_EQ(files_in(out), 1);
  }
}

TEST(TrainFails, BeforeTheFirstStepWhereItCannotWrite) {
  const SmallTraining small;
  // Nobody can create files there, not even root.
  const Outcome outcome = run("train --steps 2 --out /proc/self" + small.flags);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(begins(outcome.err, "wick: /proc/self/training.lock: cannot be written: "))
      << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

TEST(TrainFails, WhereTheTextsCannotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const SmallTraining small;
  fs::permissions(small.text, fs::perms::none);
  const Outcome outcome = run("train --steps 2 --out " + (small.folder / "m") + small.flags);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "wick: " + small.text + ": Permission denied\n");
}

TEST(TrainBadInput, ATextThatIsNoFile) {
  const SmallTraining small;
  const std::string pipe = small.folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Outcome outcome =
      run("train --steps 2 --device cpu --data " + pipe + " --out " + (small.folder / "m"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "wick: " + pipe + ": not a regular file\n");
}

TEST(TrainBadInput, WhatIsResumed) {
  const SmallTraining small;
  expect_bad_input(run("train --resume " + (small.folder / "none")), "nothing to resume");
  const std::string model = small.train();
  expect_bad_input(run("train --resume " + model + " --data " + small.config),
                   "the texts differ from those");
  const std::string state = bytes_of(model + "/training.safetensors");
  std::ofstream(model + "/training.safetensors", std::ios::binary)
      << state.substr(0, state.size() / 2);
  expect_bad_input(run("train --resume " + model), "training.safetensors: ");
  fs::copy_file(model + "/model.safetensors", model + "/training.safetensors",
                fs::copy_options::overwrite_existing);
  expect_bad_input(run("train --resume " + model), "not a training state");
}

TEST(TrainFails, WhereTheFolderCannotBe) {
  const SmallTraining small;
  const Outcome outcome = run("train --steps 2 --out " + small.text + "/m" + small.flags);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, small.text + "/m")) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

}  // namespace
}  // namespace wick::test
