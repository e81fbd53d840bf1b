-- Sends the choice of another visitor with each request, in the form in which the tag sends it.
-- Arguments: pixel, policy hash, and a name for this run.
dofile(os.getenv("BENCH_LOAD") .. "/report.lua")
dofile(os.getenv("BENCH_LOAD") .. "/as_the_tag.lua")

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(arguments)
  local pixel, hash, run = arguments[1], arguments[2], arguments[3]
  local visitor = string.format("-%s-%d", run, number)
  local body = '{"pixel_id":"' .. pixel .. '","visitor_id":"%010d' .. visitor .. '",' ..
    '"url":"https://shop.example/page","consent":"accepted","affirmative":true,' ..
    '"policy_version_hash":"' .. hash .. '","purposes":["analytics","resolution"],' ..
    '"choice_id":"%s",' .. shown .. '}'
  local length = #string.format(body, 0, choice_id(0, 0))
  local head = "POST " .. wrk.path .. " HTTP/1.1\r\nHost: shop.example\r\n" ..
    "Content-Type: text/plain\r\nContent-Length: " .. length .. "\r\n\r\n"
  local template = (head .. body)
  local count = 0
  math.randomseed(os.time() * 31 + number)
  local salt = math.random(0, 0xffffff) * 256 + number
  request = function()
    count = count + 1
    -- An odd factor uses every number once, in an order that is unfavourable for an index.
    return string.format(template, count * 736338717 % 2^30, choice_id(number, salt * 4096 + count % 4096))
  end
end
