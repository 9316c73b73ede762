# frozen_string_literal: true

# An application for the facts of rack.py; Rack::Lint fails if the server or the
# application does not keep to the specification of Rack.

require "json"

# A body that comes piece by piece.
class Pieces
  def initialize(*pieces)
    @pieces = pieces
  end

  def each
    @pieces.each { |piece| yield(piece || raise("broken off")) }
  end

  def close
    warn "closed"
  end
end

TEXT = { "Content-Type" => "text/plain" }.freeze

ANSWERS = {
  "/crash" => ->(_) { raise "crashed" },
  "/missing" => ->(_) { require "no_such_file" },
  "/unread" => ->(_) { [200, TEXT, ["unread"]] },
  "/pieces" => ->(_) { [200, TEXT, Pieces.new("one ", "", "two")] },
  "/broken" => ->(_) { [200, TEXT, Pieces.new("one", nil)] },
  "/broken_first" => ->(_) { [200, TEXT, Pieces.new(nil)] },
  "/twice" => lambda do |env|
    first = env["rack.input"].read
    env["rack.input"].rewind
    [200, TEXT, [(first == env["rack.input"].read).to_s]]
  end,
  "/lines" => ->(env) { [200, TEXT, [env["rack.input"].gets]] },
  "/size" => ->(env) { [200, TEXT, [env["rack.input"].read.bytesize.to_s]] },
  "/unclosed" => lambda do |_|
    body = Pieces.new("one")
    def body.close
      raise "not closed"
    end
    [200, TEXT, body]
  end,
  "/cookies" => lambda do |_|
    [200, TEXT.merge("Set-Cookie" => "a=1\nb=2", "Connection" => "x"), ["x"]]
  end,
  "/empty" => ->(_) { [204, {}, []] },
  "/file" => ->(_) { [200, TEXT, File.open(__FILE__, "rb")] },
  "/unicode" => ->(_) { [200, TEXT, %W[\u00e9 \xff]] }
}.freeze

SAID = lambda do |env|
  said = env.select { |name, value| value.is_a?(String) && name =~ /\A[A-Z]/ }
  said["hijack"] = env["rack.hijack?"]
  said["body"] = env["rack.input"].read
  [200, { "Content-Type" => "application/json" }, [JSON.generate(said)]]
end

# What Lint would not let pass.
UNSOUND = {
  "/split" => ->(_) { [200, TEXT.merge("X" => "a\r\nY: b"), ["x"]] },
  "/name" => ->(_) { [200, TEXT.merge("X: a\r\nY" => "b"), ["x"]] },
  "/long" => ->(_) { [200, TEXT.merge("Content-Length" => "1"), ["long"]] },
  "/short" => ->(_) { [200, TEXT.merge("Content-Length" => "9"), ["short"]] },
  "/status" => ->(_) { [-1, {}, []] },
  "/throw" => ->(_) { throw :async },
  "/nil" => ->(_) {}
}.freeze

# Behind Lint nobody sees that a body is an Array.
def with_length((status, headers, body))
  return [status, headers, body] unless body.is_a?(Array) && body.any?

  length = body.sum(&:bytesize).to_s
  [status, headers.merge("Content-Length" => length), body]
end

SOUND = Rack::Lint.new(
  ->(env) { with_length(ANSWERS.fetch(env["PATH_INFO"], SAID).call(env)) }
)

run ->(env) { UNSOUND.fetch(env["PATH_INFO"], SOUND).call(env) }
