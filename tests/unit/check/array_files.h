// Small .npy and .npz files for tests.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace vtower::test {

// An array of rank 2, as NumPy writes it.
template <typename T>
std::string npy_bytes(const std::string& descr, std::int64_t rows, std::int64_t columns,
                      const std::vector<T>& values) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  header.append(128 - 10 - header.size() - 1, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// A zip of `members`, name and bytes each.
inline std::string npz_bytes(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string file(1 << 16, '\0');
  std::size_t used = 0;
  archive* writer = archive_write_new();
  archive_write_set_format_zip(writer);
  archive_write_open_memory(writer, file.data(), file.size(), &used);
  for (const auto& [name, bytes] : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, (name + ".npy").c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(writer, entry);
    archive_write_data(writer, bytes.data(), bytes.size());
    archive_entry_free(entry);
  }
  archive_write_close(writer);
  archive_write_free(writer);
  file.resize(used);
  return file;
}

}  // namespace vtower::test
