// An option whose value is one of a few names.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace vtower::cli {

template <typename Value>
using Choices = std::vector<std::pair<std::string, Value>>;

// Declares `name` on `app`; other words are a usage error that lists the choices. Help shows them
// with the present value as the default.
template <typename Value>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Value& value,
                        const Choices<Value>& choices, const std::string& description) {
  std::vector<std::string> names;
  std::string text;
  std::string initial;
  for (const auto& [word, meaning] : choices) {
    names.push_back(word);
    text += (text.empty() ? "" : "|") + word;
    if (meaning == value) initial = word;
  }
  const auto assign = [&value, choices](const std::string& given) {
    for (const auto& [word, meaning] : choices) {
      if (word == given) value = meaning;
    }
  };
  return app.add_option_function<std::string>(name, assign, description)
      ->check(CLI::IsMember(names))
      ->option_text(text + " [" + initial + "]");
}

}  // namespace vtower::cli
