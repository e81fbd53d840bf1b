-- Requests proofs of random visitors. Arguments: pixel, a file with a visitor on each line.
dofile(os.getenv("BENCH_LOAD") .. "/report.lua")

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(arguments)
  local visitors = {}
  for visitor in io.lines(arguments[2]) do
    visitors[#visitors + 1] = visitor
  end
  local template = "GET /v1/consent/proof?pixel_id=" .. arguments[1] ..
    "&visitor_id=%s HTTP/1.1\r\nHost: shop.example\r\n\r\n"
  math.randomseed(os.time() * 31 + number)
  request = function() return string.format(template, visitors[math.random(#visitors)]) end
end
