// See README.md. FAKE_RTC_NVIDIA: a fake of NVRTC, else of hipRTC.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#if defined(FAKE_RTC_NVIDIA)
#define NAMED(function) nvrtc##function
#else
#define NAMED(function) hiprtc##function
#endif
#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum Result { kSuccess = 0, kInvalidInput = 3, kCompilation = 6 };
struct Program {
  std::string source, name, messages, image;
};
std::string log_text;
int programs_alive = 0;

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Result run_clang(const char* clang, Program& program, const std::vector<std::string>& options) {
  char name[] = "/tmp/fake_rtc_XXXXXX";
  const std::string folder = mkdtemp(name), in = folder + "/" + program.name, out = folder + "/out";
  std::ofstream(in) << program.source;
  std::vector<std::string> words = {clang,
                                    "-x",
                                    "hip",
                                    "-O2",
                                    "-nogpuinc",
                                    "-nogpulib",
                                    "-D__HIPCC_RTC__",
                                    "-include",
                                    FAKE_RTC_WORDS,
                                    "--cuda-device-only",
                                    "--no-gpu-bundle-output",
                                    "-c",
                                    in,
                                    "-o",
                                    out};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (!freopen((folder + "/messages").c_str(), "w", stderr)) _exit(2);
    execv(clang, arguments.data());
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  program.messages = contents(folder + "/messages");
  program.image = contents(out);
  std::filesystem::remove_all(folder);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? kSuccess : kCompilation;
}

void copy_out(const std::string& bytes, char* to) { std::memcpy(to, bytes.data(), bytes.size()); }

}  // namespace

EXPORT const char* fake_rtc_log() { return log_text.c_str(); }
EXPORT int fake_rtc_programs_alive() { return programs_alive; }

EXPORT const char* NAMED(GetErrorString)(Result result) {
  switch (result) {
    case kSuccess:
      return "SUCCESS";
    case kInvalidInput:
      return "ERROR_INVALID_INPUT";
    case kCompilation:
      return "ERROR_COMPILATION";
    default:
      return nullptr;  // as hipRTC for what it does not know
  }
}
EXPORT Result NAMED(CreateProgram)(Program** program, const char* source, const char* name, int,
                                   const char* const*, const char* const*) {
  *program = new Program{source, name, "", ""};
  programs_alive++;
  return kSuccess;
}
EXPORT Result NAMED(DestroyProgram)(Program** program) {
  delete *program;
  programs_alive--;
  return kSuccess;
}
EXPORT Result NAMED(CompileProgram)(Program* program, int num_options,
                                    const char* const* option_texts) {
  const std::vector<std::string> options(option_texts, option_texts + num_options);
  log_text += "compile " + program->name;
  for (const std::string& option : options) log_text += " " + option;
  log_text += "\n";
  const char* result = std::getenv("FAKE_RTC_RESULT");
  const char* messages = std::getenv("FAKE_RTC_MESSAGES");
  const char* clang = std::getenv("FAKE_RTC_CLANG");
  if (messages) program->messages = messages;
  if (result) return Result(std::atoi(result));
#if defined(FAKE_RTC_NVIDIA)
  if (!dlopen("libnvrtc-builtins.so.13.0", RTLD_NOW | RTLD_NOLOAD)) {
    program->messages = "failed to open libnvrtc-builtins.so.13.0";
    return kInvalidInput;
  }
#endif
  if (clang) return run_clang(clang, *program, options);
  program->image = std::string("image\0of ", 9) + program->name;
  return kSuccess;
}

// NVRTC counts the 0 at the end of a text, hipRTC does not.
#if defined(FAKE_RTC_NVIDIA)
EXPORT Result nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 0;
  return kSuccess;
}
EXPORT Result nvrtcGetProgramLogSize(Program* program, size_t* size) {
  *size = program->messages.size() + 1;
  return kSuccess;
}
EXPORT Result nvrtcGetProgramLog(Program* program, char* to) {
  std::strcpy(to, program->messages.c_str());
  return kSuccess;
}
EXPORT Result nvrtcGetCUBINSize(Program* program, size_t* size) {
  *size = program->image.size();
  return kSuccess;
}
EXPORT Result nvrtcGetCUBIN(Program* program, char* to) {
  copy_out(program->image, to);
  return kSuccess;
}
EXPORT Result nvrtcGetPTXSize(Program*, size_t*) { return kInvalidInput; }
EXPORT Result nvrtcGetPTX(Program*, char*) { return kInvalidInput; }
EXPORT Result nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return kSuccess;
}
EXPORT Result nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 90, architectures[1] = 80;
  return kSuccess;
}
#else
EXPORT Result hiprtcVersion(int* major, int* minor) {
  *major = 9, *minor = 0;  // as in every release
  return kSuccess;
}
EXPORT Result hiprtcGetProgramLogSize(Program* program, size_t* size) {
  *size = program->messages.size();
  return kSuccess;
}
EXPORT Result hiprtcGetProgramLog(Program* program, char* to) {
  copy_out(program->messages, to);
  return kSuccess;
}
#if !defined(FAKE_RTC_INCOMPLETE)
EXPORT Result hiprtcGetCodeSize(Program* program, size_t* size) {
  *size = program->image.size();
  return kSuccess;
}
EXPORT Result hiprtcGetCode(Program* program, char* to) {
  copy_out(program->image, to);
  return kSuccess;
}
#endif
#endif
