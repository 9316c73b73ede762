# frozen_string_literal: true

# A worker to be forked: says what it is, and a random number.

require "fiddle"
require "json"
require_relative "../../../contrib/workers/apppool"

forks = 0
worker = AppPool::Worker.new
$stdout.write("loaded\n")
$stdout.flush
close = Fiddle::Function.new(
  Fiddle::Handle::DEFAULT["close"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT
)
ENV.delete("CLOSE").to_s.split.each { |number| close.call(number.to_i) }
$stderr.close if ENV.delete("CLOSE_STDERR")
child = nil
worker.template do
  forks += 1
  child = spawn("sleep 60") if ENV["CHILD"]
end
$stdout.puts("begun")
$stdout.flush
worker.ready
worker.connections do |connection|
  connection.write(
    JSON.generate(
      "pid" => Process.pid, "app" => worker.app, "id" => worker.id,
      "slot" => worker.slot, "random" => rand, "forks" => forks,
      "child" => child,
      "descriptors" => Dir.children("/proc/self/fd").size,
      "environment" => ENV.keys.grep(/APPPOOL_/)
    )
  )
end
