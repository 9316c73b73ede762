# frozen_string_literal: true

# A page by Rack: see rack.conf. It knows nothing of apppoold(8).

run(lambda do |env|
  page = "process #{Process.pid}: #{env['PATH_INFO']}\n"
  [200, { "Content-Type" => "text/plain" }, [page]]
end)
