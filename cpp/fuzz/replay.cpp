// Runs a fuzz target on every file of some folders: a corpus under any sanitizer, without
// libFuzzer. Two threads run all of them at once: they share nothing, so nothing may race.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<char>;

std::vector<Input> read_folders(int count, char** folders) {
  std::vector<Input> inputs;
  for (int k = 0; k < count; ++k) {
    if (!std::filesystem::is_directory(folders[k])) continue;  // nothing was found yet
    for (const auto& entry : std::filesystem::directory_iterator(folders[k])) {
      std::ifstream file(entry.path(), std::ios::binary);
      inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return inputs;
}

void run(const std::vector<Input>& inputs) {
  for (const Input& input : inputs) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Input> inputs = read_folders(argc - 1, argv + 1);
  if (inputs.empty()) {
    std::fprintf(stderr, "no inputs in the folders given\n");
    return 1;
  }
  std::thread other([&inputs] { run(inputs); });
  run(inputs);
  other.join();
  std::printf("%zu inputs, twice\n", inputs.size());
  return 0;
}
