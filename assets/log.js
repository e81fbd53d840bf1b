// The consent log: asks the API with the reader's key and shows the receipts. The key stays in the form field.
(function () {
  'use strict';

  var form = document.getElementById('log-form');
  var pixelField = document.getElementById('pixel');
  var keyField = document.getElementById('key');
  var stateField = document.getElementById('state');
  var submit = form.querySelector('button[type="submit"]');
  var showKey = document.getElementById('show-key');
  var status = document.getElementById('status');
  var results = document.getElementById('results');
  var rows = document.getElementById('rows');
  var running = null;

  pixelField.value = pixelField.value || new URLSearchParams(location.search).get('pixel_id') || '';

  keyField.type = 'password';
  showKey.hidden = false;
  showKey.addEventListener('click', function () {
    var visible = keyField.type === 'password';
    keyField.type = visible ? 'text' : 'password';
    showKey.setAttribute('aria-pressed', String(visible));
  });

  form.addEventListener('submit', function (event) {
    event.preventDefault();
    load();
  });

  async function load() {
    if (running) running.abort();
    var mine = running = new AbortController();
    var pixel = pixelField.value.trim();
    var key = keyField.value.trim();
    // A header takes only these characters; no key of the service has others.
    if (!/^[\x21-\x7e]+$/.test(key)) return fail('invalid api key');

    var path = '/v1/pixels/' + encodeURIComponent(pixel) + '/consent';
    var query = stateField.value ? '?state=' + stateField.value : '';
    say('Loading…');
    submit.setAttribute('aria-disabled', 'true');
    try {
      var answer = await fetch(path + query, {
        headers: { 'X-API-Key': key, Accept: 'application/json' },
        cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer', signal: mine.signal
      });
      if (!answer.ok) return fail(await sentenceOf(answer));
      show((await answer.json()).events, pixel);
    } catch (error) {
      if (error.name !== 'AbortError') fail('The service could not be reached. Please try again.');
    } finally {
      if (running === mine) {
        running = null;
        submit.removeAttribute('aria-disabled');
      }
    }
  }

  // Errors are problem details; `detail` is a sentence, or a list of fields with a `msg` each.
  async function sentenceOf(answer) {
    var problem = await answer.json().catch(function () { return {}; });
    if (Array.isArray(problem.detail)) {
      return problem.detail.map(function (item) { return item.msg; }).join('; ');
    }
    return problem.detail || problem.title || 'The service answered with status ' + answer.status + '.';
  }

  function say(words) {
    status.className = 'status';
    status.textContent = words;
  }

  function fail(words) {
    results.hidden = true;
    rows.replaceChildren();
    status.className = 'status problem';
    status.textContent = words;
  }

  function show(events, pixel) {
    results.hidden = events.length === 0;
    rows.replaceChildren.apply(rows, events.map(rowOf));
    if (events.length === 0) {
      say(stateField.value
        ? 'No choice of this kind is recorded for this pixel.'
        : 'Nothing is recorded for this pixel yet. A row appears when a visitor answers the popup.');
      return;
    }
    var count = events.length === 1 ? '1 choice' : events.length + ' choices';
    say(count + ', newest first.');
    document.getElementById('caption').textContent = 'Choices recorded for pixel ' + pixel;
  }

  function rowOf(event) {
    var receipt = event.receipt;
    var row = element('tr');
    row.setAttribute('role', 'row');
    var purposes = receipt.purposes || [];
    row.append(
      cell('Time (UTC)', timeOf(receipt.recorded_at)),
      cell('Choice', element('span', 'state ' + receipt.consent_state, receipt.consent_state)),
      cell('Purposes', purposes.length ? purposes.join(', ') : 'none'),
      cell('Site', receipt.origin),
      cell('Visitor', element('span', 'id', receipt.visitor_id)),
      cell('Receipt', element('span', 'id', receipt.receipt_id)),
      cell('Notice', policyLink(receipt)),
      cell('Signature', tools(event))
    );
    return row;
  }

  function timeOf(stamp) {
    var time = element('time', '', stamp.slice(0, 19).replace('T', ' '));
    time.dateTime = stamp;
    return time;
  }

  function policyLink(receipt) {
    var link = element('a', 'id', receipt.policy_hash.slice(0, 8));
    link.href = '/v1/policy/' + encodeURIComponent(receipt.pixel_id) + '?hash=' + encodeURIComponent(receipt.policy_hash);
    link.prepend(element('span', 'visually-hidden', 'Notice '));
    return link;
  }

  function tools(event) {
    var box = element('div', 'tools');
    var about = ' receipt ' + event.receipt.receipt_id;
    var verify = smallButton('Verify', about);
    var download = smallButton('JSON', about);
    var answer = element('span', 'answer');
    answer.setAttribute('role', 'status');
    verify.addEventListener('click', function () { check(event, answer); });
    download.addEventListener('click', function () { save(event); });
    box.append(verify, download, answer);
    return box;
  }

  async function check(event, answer) {
    answer.className = 'answer';
    answer.textContent = 'Checking…';
    try {
      var response = await fetch('/v1/consent/verify', {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, credentials: 'omit',
        body: JSON.stringify({ receipt: event.receipt, signature: event.signature })
      });
      if (!response.ok) {
        answer.textContent = await sentenceOf(response);
        return;
      }
      var valid = (await response.json()).valid === true;
      answer.className = 'answer ' + (valid ? 'good' : 'bad');
      answer.textContent = valid ? 'Genuine' : 'Not genuine';
    } catch (error) {
      answer.textContent = 'The service could not be reached.';
    }
  }

  function save(event) {
    var content = { receipt: event.receipt, signature: event.signature, signature_alg: event.signature_alg };
    var link = element('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(content, null, 2) + '\n'], { type: 'application/json' }));
    link.download = 'receipt-' + event.receipt.receipt_id + '.json';
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }

  function cell(label, content) {
    var td = element('td');
    td.setAttribute('role', 'cell');
    td.dataset.label = label;
    var inner = element('div');
    inner.append(content);
    td.append(inner);
    return td;
  }

  function smallButton(word, hidden) {
    var button = element('button', 'plain small', word);
    button.type = 'button';
    button.append(element('span', 'visually-hidden', hidden));
    return button;
  }

  function element(name, className, text) {
    var made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }
})();
