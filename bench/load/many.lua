-- Visitors of many equally busy sites, each with its own address. Arguments: a file with the sites' pixel ids,
-- one per line; the number of visitors of each site, for checks; and, to record choices of new visitors
-- instead, a policy hash and a name for this run. The site of bench-N is N.example.
dofile(os.getenv("BENCH_LOAD") .. "/report.lua")
dofile(os.getenv("BENCH_LOAD") .. "/as_the_tag.lua")

local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(arguments)
  local visitors, hash, run = tonumber(arguments[2]), arguments[3], arguments[4]
  local pixels = {}
  for pixel in io.lines(arguments[1]) do pixels[#pixels + 1] = pixel end
  math.randomseed(os.time() * 31 + number)
  local count = 0
  request = function()
    count = count + 1
    local pixel = pixels[math.random(#pixels)]
    if not hash then
      return string.format("GET /v1/consent/check?pixel_id=%s&visitor_id=visitor-%d&required_purpose=resolution " ..
        "HTTP/1.1\r\nHost: shop.example\r\n\r\n", pixel, math.random(visitors))
    end
    local body = string.format('{"pixel_id":"%s","visitor_id":"%s-%d-%d","url":"https://%s.example/page",' ..
      '"consent":"accepted","affirmative":true,"policy_version_hash":"%s","purposes":["analytics","resolution"],' ..
      '"choice_id":"%s",%s}', pixel, run, number, count, pixel:sub(7), hash, choice_id(number, count), shown)
    local address = string.format("10.%d.%d.%d", math.random(0, 255), math.random(0, 255), math.random(1, 254))
    return "POST /v1/consent/record HTTP/1.1\r\nHost: shop.example\r\nContent-Type: text/plain\r\n" ..
      "X-Client: " .. address .. "\r\n" ..
      "Content-Length: " .. #body .. "\r\n\r\n" .. body
  end
end
