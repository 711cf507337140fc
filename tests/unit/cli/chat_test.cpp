// wick chat and wick generate with a tokenizer, from outside.
#include "../expect.h"
#include "chat_model.h"

namespace wick::test {
namespace {

const std::string& model() {
  static const Folder folder;
  static const bool written = (write_chat_model(folder), true);
  return written ? folder.path() : folder.path();
}
std::string chat(const std::string& rest) { return "chat --device cpu -m " + model() + rest; }

TEST(Chat, AnswersOneQuestion) {
  const Outcome outcome = run(chat(" -p hello --max-tokens 8 --temperature 0"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('<'), outcome.out.npos) << outcome.out;  // no special tokens
  EXPECT_TRUE(begins(outcome.err, "prefill: ")) << outcome.err;
  EXPECT_EQ(run(chat(" -p hello --max-tokens 8 --temperature 0")).out, outcome.out);
}

TEST(Chat, JsonCountsThePromptAsTheTemplateLaysItOut) {
  const Outcome outcome = run(chat(" -p hi --system be --max-tokens 6 --temperature 0 --json"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Settings result = parse_json(outcome.out, "stdout");
  // <s> <turn>system be<end> <turn>user hi<end> <turn>assistant_
  const int64_t expected = 1 + (1 + 9 + 1) + (1 + 7 + 1) + (1 + 10);
  EXPECT_EQ(result.integer("prompt_tokens"), expected);
  EXPECT_EQ(result.text("prompt"), "hi");
  EXPECT_LE(result.integers("tokens").size(), 6u);
}

TEST(Chat, ALineOfStdinIsATurnWhenItIsNoTerminal) {
  const Outcome two = run(chat(" --max-tokens 5 --temperature 0 < " + model() + "/two"),
                          "printf 'one\\n\\ntwo\\n' > " + model() + "/two;");
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(std::count(two.out.begin(), two.out.end(), '\n') >= 2, true) << two.out;
  const Outcome one = run(chat(" -p one --max-tokens 5 --temperature 0"));
  EXPECT_TRUE(begins(two.out, one.out)) << two.out << " / " << one.out;
}

TEST(Chat, EndsAnAnswerWhenTheContextIsFull) {
  const Outcome outcome =
      run(chat(" -p hi --context 40 --temperature 0 --logit-bias 1=-1e9 --json"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(parse_json(outcome.out, "stdout").text("stopped"), "context");
  expect_bad_input(run(chat(" -p hi --context 10")),
                   "chat: the message takes 21 tokens, the context has 10");
}

TEST(Chat, ForgetsItsOldestTurnsOnceTheContextIsFull) {
  const Outcome outcome = run(
      chat(" --system be --context 60 --max-tokens 5 --logit-bias 1=-1e9 < ") + model() + "/many",
      "printf 'one\\ntwo\\nthree\\nfour\\nfive\\nsix\\n' > " + model() + "/many;");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err,
            "the context of 60 tokens is full: the oldest turns are left out from now on "
            "(--context)\n");
}

TEST(ChatWindow, LeavesOutTheFewestOldestTurns) {
  const LanguageModel m = load_model(model(), {.device = Device::cpu()});
  const ChatMessage system{.role = "system", .content = "be"}, last{.role = "user", .content = "c"};
  const std::vector<ChatMessage> all = {system,
                                        {.role = "user", .content = "a"},
                                        {.role = "assistant", .content = "xx"},
                                        {.role = "user", .content = "b"},
                                        {.role = "assistant", .content = "yy"},
                                        last};
  const auto ids = [&](std::vector<ChatMessage> messages) { return m.chat_ids(messages); };
  const int64_t whole = int64_t(ids(all).size());
  const ChatWindow everything = chat_window(m, all, whole, 0);
  EXPECT_EQ(everything.ids, ids(all));
  EXPECT_EQ(everything.left_out, 0);
  const ChatWindow two = chat_window(m, all, whole - 1, 0);
  EXPECT_EQ(two.ids, ids({system, all[3], all[4], last}));
  EXPECT_EQ(two.first, 1);
  EXPECT_EQ(two.left_out, 2);
  EXPECT_EQ(chat_window(m, all, whole + 8, 8).left_out, 0);
  EXPECT_EQ(chat_window(m, all, whole + 7, 8).left_out, 2);         // room for the answer
  EXPECT_EQ(chat_window(m, all, whole * 4 / 3, 1000).left_out, 0);  // of a quarter at most
  const int64_t least = int64_t(ids({system, last}).size());
  EXPECT_EQ(chat_window(m, all, least, 1000).ids, ids({system, last}));
  for (const auto& messages : {all, {system, last}})
    EXPECT_ERROR(chat_window(m, messages, least - 1, 0), kOutOfRange, "with the system message");
  EXPECT_ERROR(chat_window(m, all, 0, 0), kInvalidArgument, "capacity");
}

TEST(Chat, EachRunHasASeedOfItsOwnThatRepeatsIt) {
  const std::string flags = " -p hi --max-tokens 12 --temperature 5 --min-p 0 --json --verbose";
  const Outcome first = run(chat(flags)), second = run(chat(flags));
  const Settings a = parse_json(first.out, "stdout"), b = parse_json(second.out, "stdout");
  EXPECT_NE(a.integer("seed"), b.integer("seed"));
  EXPECT_NE(a.text("text"), b.text("text"));
  const std::string seed = std::to_string(a.integer("seed"));
  EXPECT_TRUE(begins(first.err, "seed: " + seed + "\n")) << first.err;
  const Settings again = parse_json(run(chat(flags + " --seed " + seed)).out, "stdout");
  EXPECT_EQ(again.text("text"), a.text("text"));
}

TEST(Readme, ItsProgramAsksAModel) {
  const Folder folder;
  const std::string model = folder / "SmolLM2-135M-Instruct.Q4_1.gguf";
  std::filesystem::create_directory(model);
  const Folder written;
  write_chat_model(written);
  for (const auto& file : std::filesystem::directory_iterator(written.path()))
    std::filesystem::copy(file.path(), model);
  const std::string out = folder / "out";
  const std::string command =
      "cd " + folder.path() + " && WICK_DEVICE=cpu " + WICK_README_PROGRAM + " > " + out + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << bytes_of(out);
}

TEST(Chat, AFlagThatMayBeRepeatedTakesOneTextEachTime) {
  const Outcome outcome =
      run("chat --device cpu -p hi --max-tokens 2 --stop x --stop y " + model());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Chat, TheStatisticsHaveALineOfTheirOwn) {
  const Outcome both = run(chat(" -p hi --max-tokens 8 --temperature 0; } 2>&1; }"), "{ {");
  EXPECT_TRUE(contains(both.out, "\nprefill: ")) << both.out;
}

TEST(Chat, AnUnknownKeyOfTheConfigIsALineOfWarning) {
  const Folder folder;
  write_chat_model(folder);
  std::string config = bytes_of(folder / "config.json");
  folder.write("config.json",
               config.insert(config.find('{') + 1, R"("new\u001b": 1, "newer": 2,)"));
  const Outcome outcome = run("chat --device cpu -p hi --max-tokens 2 -m " + folder.path());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string begin = "wick: warning: " + folder.path() + ": unknown key ";
  EXPECT_TRUE(contains(outcome.err, begin + "\"new\\u001b\" is ignored\n")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, begin + "\"newer\" is ignored\n")) << outcome.err;
}

TEST(Chat, BadInput) {
  expect_bad_input(run("chat -p hi -m /nonexistent"), "/nonexistent: no such file or folder");
  expect_bad_input(run(chat(" --json")), "--json: expected -p with it");
  expect_bad_input(run(chat(" -p hi --logit-bias 3")), "--logit-bias: expected ID=NUMBER, got 3");
  for (const char* dtype : {"q8_0", "i8", "nonsense"})
    expect_bad_input(run(chat(std::string(" -p hi --dtype ") + dtype)),
                     std::string("--dtype: expected f32, bf16, f16 or f64, got ") + dtype);
  expect_bad_input(run("chat -p hi -m /dev/null"), "/dev/null: not a regular file");
  const Folder plain;
  write_chat_model(plain);
  plain.write("tokenizer_config.json", "{}");
  expect_bad_input(run("chat --device cpu -p hi -m " + plain.path()),
                   "the model has no chat template");
  plain.write("tokenizer_config.json", R"({"chat_template": "{% if %}"})");
  expect_bad_input(run("chat --device cpu -p hi -m " + plain.path()),
                   "tokenizer_config.json: \"chat_template\"");
}

TEST(GenerateTokens, ContinuesATextAsItStands) {
  const std::string command =
      "generate --device cpu -m " + model() +
      " -p 'a<turn>b' --max-tokens 6 --temperature 0 --logit-bias 1=-1e9 --json";
  const Settings result = parse_json(run(command).out, "stdout");
  EXPECT_EQ(result.integer("prompt_tokens"), 4);  // <s> a <turn> b
  EXPECT_EQ(result.integers("tokens").size(), 6u);
  EXPECT_EQ(result.text("stopped"), "length");
  // `text` is the text of the tokens.
  std::string ids;
  for (const int64_t id : result.integers("tokens"))
    ids += (ids.empty() ? "[" : ",") + std::to_string(id);
  const Outcome text = run("detokenize --json -m " + model() + " " + model() + "/ids",
                           "printf '" + ids + "]' > " + model() + "/ids;");
  EXPECT_EQ(parse_json(text.out, "stdout").text("text"), result.text("text"));
}

TEST(GenerateTokens, AStopTextEndsIt) {
  const std::string command = "generate --device cpu -m " + model() +
                              " -p ab --max-tokens 20 --temperature 0 --logit-bias 1=-1e9 --json";
  const std::string text = parse_json(run(command).out, "stdout").text("text");
  ASSERT_GT(text.size(), 4u);
  const std::string stop = text.substr(2, 2);
  const Settings stopped = parse_json(run(command + " --stop '" + stop + "'").out, "stdout");
  EXPECT_EQ(stopped.text("stopped"), "stop");
  EXPECT_EQ(stopped.text("text"), text.substr(0, text.find(stop)));
}

TEST(Tokenize, GivesIdsTokensAndOffsets) {
  const Outcome outcome = run("tokenize --json -m " + model() + " " + model() + "/text",
                              "printf 'ab<end>c' > " + model() + "/text;");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Settings result = parse_json(outcome.out, "stdout");
  EXPECT_EQ(result.integers("ids"), (std::vector<int64_t>{0, 5, 6, 1, 7}));
  EXPECT_EQ(result.texts("tokens"), (std::vector<std::string>{"<s>", "a", "b", "<end>", "c"}));
  EXPECT_TRUE(contains(outcome.out, R"("offsets":[[0,0],[0,1],[1,2],[2,7],[7,8]])")) << outcome.out;
  const Outcome bare =
      run("tokenize --no-special --json --lines -m " + model() + " " + model() + "/lines",
          "printf '\"ab\"\\n\"c\"\\n' > " + model() + "/lines;");
  EXPECT_EQ(std::count(bare.out.begin(), bare.out.end(), '\n'), 2) << bare.out;
  EXPECT_EQ(parse_json(bare.out.substr(0, bare.out.find('\n')), "line").integers("ids"),
            (std::vector<int64_t>{5, 6}));
}

TEST(Tokenize, BadInput) {
  const auto detokenize = [](const std::string& text) {
    return run("detokenize --json -m " + model() + " " + model() + "/list",
               "printf '" + text + "' > " + model() + "/list;");
  };
  expect_bad_input(detokenize("5"), "/list: expected a JSON list of ids, got 5");
  expect_bad_input(detokenize("[\"a\"]"), "/list: expected integers in the list");
  expect_bad_input(detokenize("[1"), "/list: expected JSON");
  expect_bad_input(run("tokenize -m /nonexistent"), "/nonexistent: no such file or folder");
  expect_bad_input(run("tokenize -m " + model() + " /nonexistent"), "/nonexistent: No such file");
  expect_bad_input(run("tokenize --lines -m " + model()), "--lines requires --json");
  EXPECT_EQ(parse_json(detokenize("[5,99,6]").out, "stdout").text("text"), "ab");
}

TEST(Logits, AreThoseOfTheModel) {
  const Folder folder;
  const Outcome outcome =
      run("logits --device cpu -m " + model() + " --tokens 0,5,6 -o " + (folder / "x.safetensors"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Tensor logits = load_safetensors(folder / "x.safetensors").at("logits");
  EXPECT_EQ(logits.shape(), Shape({3, 40}));
  const NoGrad off;
  const Tensor expected = load_model(model(), {.device = Device::cpu()})
                              .model->forward(Tensor::from(std::vector<int64_t>{0, 5, 6}, {1, 3}),
                                              positions_from_0(1, 3, Device::cpu()));
  EXPECT_EQ(logits.to_vector<float>(), expected.to_vector<float>());
  expect_bad_input(run("logits --device cpu -m " + model() + " --tokens 0,5 -o no/x"), "no folder");
  expect_bad_input(run("logits --device cpu -m " + model() + " --tokens 0,40 -o x"),
                   "--tokens: id 40 is outside a vocabulary of 40");
  expect_bad_input(run("logits --device cpu -m " + model() + " --tokens 0,x -o x"),
                   "--tokens: expected ids");
}

TEST(Forward, WritesTheLogitsOfAFilesIds) {
  const Folder folder;
  const std::string in = folder / "in.safetensors", out = folder / "out.safetensors";
  const Tensor ids = Tensor::from(std::vector<int64_t>{0, 5, 6, 0, 0, 7}, {2, 3}),
               mask = Tensor::from(std::vector<int64_t>{1, 1, 1, 0, 0, 1}, {2, 3});
  save_safetensors(in, {{"input_ids", ids}, {"attention_mask", mask}});
  const std::string command = "forward --device cpu -m " + model() + " --in " + in + " -o ";
  const Outcome outcome = run(command + out + " --hidden");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const NamedTensors tensors = load_safetensors(out);
  EXPECT_EQ(tensors.at("logits").shape(), Shape({2, 3, 40}));
  EXPECT_EQ(tensors.count("last_hidden_state") + tensors.count("hidden_states.0"), 2u);
  const NoGrad off;
  const Tensor expected = load_model(model(), {.device = Device::cpu()})
                              .model->forward(Tensor::from(std::vector<int64_t>{0, 5, 6}, {1, 3}),
                                              positions_from_0(1, 3, Device::cpu()));
  const std::vector<float> got = tensors.at("logits").to_vector<float>(),
                           of_row = expected.to_vector<float>();
  for (size_t i = 0; i < of_row.size(); i++) EXPECT_NEAR(got[i], of_row[i], 1e-5);
  save_safetensors(in, {{"pixel_values", ids}, {"input_ids", ids}});
  expect_bad_input(run(command + out), "does not read \"pixel_values\"");
  expect_bad_input(run(command + in), "in.safetensors");
  expect_bad_input(run("forward --device cpu -m " + model() + " --in no -o x"), "no: No such file");
}

}  // namespace
}  // namespace wick::test
