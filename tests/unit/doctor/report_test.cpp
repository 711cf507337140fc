// The diagnosis as text, as JSON, and without personal names; this machine.
#include <sys/stat.h>

#include <cerrno>

#include "made_up.h"
#include "wick/io/json.h"

namespace wick::test {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Diagnosis with_a_problem() {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  m.machine.environment["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0";
  m.node("/dev/kfd", EACCES);
  return examine(m.machine);
}

TEST(Report, TextHasTheSystemTheCardsAndTheFindingsWithTheirCures) {
  const std::string text = to_text(with_a_problem());
  for (const char* part :
       {"distribution  Debian GNU/Linux 13 (trixie)\n", "kernel        6.12.48-amd64\n",
        "processor     AMD Ryzen 9 7950X\n",
        "GPU           0000:03:00.0 (AMD Radeon, gfx1100), amdgpu, 24.0 GiB, MES 0x0000006f\n",
        "rocm:0    AMD Radeon, gfx1100, 24.0 GiB\n", "\nproblem   /dev/kfd cannot be opened",
        "[kfd-permission]\n", "\n  cure    ", "\n  see     https://",
        "\n1 problem, 1 warning, 0 notes\n"})
    EXPECT_TRUE(contains(text, part)) << part << " is not in\n" << text;
  // The most severe first.
  EXPECT_LT(text.find("\nproblem "), text.find("\nwarning "));
}

TEST(Report, TextKeepsToItsColumns) {
  std::string text = to_text(with_a_problem());
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = text.substr(at, end - at);
    EXPECT_TRUE(contains(line, "https://") || line.size() <= 96) << line;
  }
}

TEST(Report, JsonHasTheSame) {
  const Settings read = parse_json(to_json(to_settings(with_a_problem())), "diagnosis");
  EXPECT_EQ(read.group("system")->text("kernel"), "6.12.48-amd64");
  const auto& cards = std::get<Setting::List>(read.find("cards")->value);
  ASSERT_EQ(cards.size(), 1u);
  const Settings& card = std::get<Settings>(cards[0].value);
  EXPECT_EQ(card.text("architecture"), "gfx1100");
  EXPECT_EQ(card.text("pci_id"), "1002:744c");
  EXPECT_EQ(card.integer("memory_bytes"), 24 * kGib);
  EXPECT_EQ(card.group("firmware")->text("mes"), "0x0000006f");
  const auto& findings = std::get<Setting::List>(read.find("findings")->value);
  ASSERT_EQ(findings.size(), 2u);
  const Settings& finding = std::get<Settings>(findings[0].value);
  EXPECT_EQ(finding.text("id"), "kfd-permission");
  EXPECT_EQ(finding.text("severity"), "problem");
  EXPECT_FALSE(finding.text("cure").empty());
  EXPECT_FALSE(finding.texts("sources").empty());
}

TEST(Report, NamesOfPeopleAndMachinesAreLeftOut) {
  MadeUp m;
  const std::string home = "/home", root = "/root";
  m.machine.environment["HOME"] = home + "/ann";
  EXPECT_EQ(without_personal_names(home + "/ann/venv/lib/libamdhip64.so.7", m.machine),
            "~/venv/lib/libamdhip64.so.7");
  EXPECT_EQ(without_personal_names(home + "/annabel/x, /mnt" + home + "/bob/y", m.machine),
            home + "/USER/x, /mnt" + home + "/USER/y");
  EXPECT_EQ(without_personal_names("/data/ann/x on annsbox, channel", m.machine),
            "/data/USER/x on HOST, channel");
  m.machine.environment = {{"HOME", root}, {"USER", "root"}};
  EXPECT_EQ(without_personal_names(root + "/x; root alone", m.machine), "~/x; root alone");
  m.machine.environment = {};
  EXPECT_EQ(without_personal_names("/opt/rocm/lib", m.machine), "/opt/rocm/lib");
}

TEST(Report, FilesThatHoldNonsenseCountAsUnknown) {
  MadeUp m;
  m.card();
  m.rocm("gfx1100");
  const std::string card = "/sys/bus/pci/devices/0000:03:00.0/";
  for (const char* name : {"mem_info_vram_total", "mem_info_vis_vram_total", "mem_info_gtt_total",
                           "current_link_width", "fw_version/mes_fw_version"})
    m.file(card + name, "\x01\xff nonsense 99999999999999999999999");
  m.file("/proc/meminfo", "MemTotal: lots");
  m.file("/proc/cpuinfo", "model name");
  m.file("/etc/group", "::::\nx:y:z\n:\n");
  m.file("/sys/class/kfd/kfd/topology/nodes/1/properties", "gfx_target_version\nsimd_count -3\n");
  m.file("/sys/bus/pci/devices/0000:04:00.0/uevent", "PCI_CLASS=30000\nPCI_ID=zzzz\n");
  const Diagnosis diagnosis = examine(m.machine);
  EXPECT_EQ(diagnosis.cards.size(), 1u);
  EXPECT_FALSE(to_text(diagnosis).empty());
  MadeUp empty;
  empty.remove("/proc");
  empty.remove("/etc");
  EXPECT_EQ(ids(examine(empty.machine)), "no-gpu");
}

TEST(ThisMachine, IsExaminedWithoutAnError) {
  const Machine machine = this_machine();
  EXPECT_EQ(machine.backends_failure, "");
  ASSERT_FALSE(machine.backends.empty());
  EXPECT_EQ(machine.backends[0].name, "cpu");
  const Diagnosis diagnosis = examine(machine);
  EXPECT_FALSE(diagnosis.system.empty());
}

TEST(ThisMachine, BackendsComeBackFromTheirLine) {
  TemporaryFolder folder;
  const auto program = [&](const std::string& body) {
    const std::string path = folder.write("ask", "#!/bin/sh\n" + body);
    chmod(path.c_str(), 0755);
    return path;
  };
  const std::string line = backends_line();
  folder.write("line", "a runtime says hello\n" + line + "\nand goodbye\n");
  Machine machine =
      this_machine({.backends_command = {program("cat '" + folder.file("line") + "'\n")}});
  EXPECT_EQ(machine.backends_failure, "");
  const std::vector<BackendStatus> here = backend_status();
  ASSERT_EQ(machine.backends.size(), here.size());
  EXPECT_EQ(machine.backends[0].devices.size(), 1u);
  EXPECT_STREQ(machine.backends[0].devices[0].name, here[0].devices[0].name);
  EXPECT_EQ(machine.backends[0].devices[0].total_bytes, here[0].devices[0].total_bytes);
  EXPECT_EQ(machine.backends[1].why_none, here[1].why_none);

  machine = this_machine({.backends_command = {program("kill -SEGV $$\n")}});
  EXPECT_EQ(machine.backends_failure, "is ended by signal 11 (Segmentation fault)");
  machine = this_machine({.backends_command = {program("echo why >&2\nexit 3\n")}});
  EXPECT_EQ(machine.backends_failure, "exits with status 3: why");
  machine = this_machine({.backends_command = {program("sleep 60\n")}, .timeout_ms = 200});
  EXPECT_TRUE(contains(machine.backends_failure, "still runs after")) << machine.backends_failure;
  machine = this_machine({.backends_command = {program("echo nothing\n")}});
  EXPECT_FALSE(machine.backends_failure.empty());
  machine = this_machine({.backends_command = {program("echo 'wick-backends: {'\n")}});
  EXPECT_FALSE(machine.backends_failure.empty());
}

}  // namespace
}  // namespace wick::test
