# frozen_string_literal: true

# An application of Sinatra, as its introduction has it.

require "sinatra"

get "/hello/:name" do
  "hello #{params['name']} of #{ENV.fetch('GENERATION', '')}\n"
end

post "/form" do
  params.values.join(" ")
end

get "/stream" do
  stream do |out|
    out << "one "
    out << "two"
  end
end

get "/halt" do
  halt 418, "no"
end

run Sinatra::Application
