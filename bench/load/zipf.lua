-- Visitors of many sites, of which the second has half of the first's, and so on. Arguments: how many
-- sites, the mean pause of a connection in milliseconds, and, to record choices instead of asking for
-- tags, a policy hash and a name for this run.
dofile(os.getenv("BENCH_LOAD") .. "/report.lua")

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

local sums = {}

local function draw()
  local wanted, low, high = math.random() * sums[#sums], 1, #sums
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sums[middle] < wanted then low = middle + 1 else high = middle end
  end
  return low
end

function init(arguments)
  local sites, pause, hash, run = tonumber(arguments[1]), tonumber(arguments[2]), arguments[3], arguments[4]
  local sum = 0
  for rank = 1, sites do
    sum = sum + 1 / rank
    sums[rank] = sum
  end
  math.randomseed(os.time() * 31 + number)
  local count = 0
  request = function()
    count = count + 1
    local pixel = "bench-" .. draw()
    if not hash then
      return "GET /px/" .. pixel .. ".js HTTP/1.1\r\nHost: shop.example\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n"
    end
    local body = string.format('{"pixel_id":"%s","visitor_id":"%s-%d-%d","url":"https://%s.example/page",' ..
      '"consent":"accepted","affirmative":true,"policy_version_hash":"%s","purposes":["analytics","resolution"]}',
      pixel, run, number, count, pixel:sub(7), hash)
    -- An address of their own for every visitor, for a service that has its limits on.
    local address = string.format("10.%d.%d.%d", math.random(0, 255), math.random(0, 255), math.random(1, 254))
    return "POST /v1/consent/record HTTP/1.1\r\nHost: shop.example\r\nContent-Type: text/plain\r\n" ..
      "X-Client: " .. address .. "\r\n" ..
      "Content-Length: " .. #body .. "\r\n\r\n" .. body
  end
  if pause > 0 then
    delay = function() return math.random(0, 2 * pause) end
  end
end
