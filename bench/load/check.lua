-- Checks random visitors. Arguments: pixel, number of visitors; with one, it is always the same visitor.
dofile(os.getenv("BENCH_LOAD") .. "/report.lua")

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(arguments)
  local pixel, visitors = arguments[1], tonumber(arguments[2])
  local template = "GET /v1/consent/check?pixel_id=" .. pixel ..
    "&visitor_id=visitor-%d&required_purpose=resolution HTTP/1.1\r\nHost: shop.example\r\n\r\n"
  math.randomseed(os.time() * 31 + number)
  request = function() return string.format(template, math.random(1, visitors)) end
end
