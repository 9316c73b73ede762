# frozen_string_literal: true

# A client of a PoolCounter service by the Ruby sample. Each line of the input is
# a call, `lock KEY WORKERS MAXQUEUE TIMEOUT [any]`, `unlock [KEY]`, `open
# ADDRESS` or `slot KIND KEY SLOTS`; what it returns is a line of the output.

require_relative "../../contrib/workers/apppool"

$stdout.sync = true
counter = nil
$stdin.each_line(chomp: true) do |line|
  verb, *words = line.split(" ")
  answer =
    case verb
    when "open"
      counter&.close
      counter = AppPool::Counter.new(words[0])
      "open"
    when "lock"
      key, workers, maxqueue, timeout, how = words
      counter.lock(key, workers.to_i, maxqueue.to_i,
                   timeout: timeout.to_f, anyone: how == "any")
    when "unlock"
      counter.unlock(*words)
    when "slot"
      AppPool.slot_key(words[0], words[1], words[2].to_i)
    end
  puts answer
rescue AppPool::CounterError, ArgumentError => e
  puts "#{e.class}: #{e.message}"
end
