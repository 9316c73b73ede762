# frozen_string_literal: true

# Pages by Sinatra: see sinatra.conf. It knows nothing of apppoold(8).

require "sinatra/base"

# The page that each path has.
class Hello < Sinatra::Base
  get "/*" do
    content_type "text/plain"
    "process #{Process.pid}: #{request.path}\n"
  end
end

run Hello
