// The demo's preview: shows the receipt that a click in the popup produced, and verifies it.
(function () {
  'use strict';

  var panel = document.getElementById('receipt');
  var pixel = panel.dataset.pixel;
  var sentence = document.getElementById('sentence');
  var paper = document.getElementById('paper');
  var json = document.getElementById('json');
  var verdict = document.getElementById('verdict');
  var current = null;
  var shown = '';
  var turn = 0;
  var waited = false;

  // The tag tells of a "no" before the service has recorded it, and does not tell of the same answer given again:
  // so this listens, and looks now and then as well.
  window.addEventListener('assent:change', look);
  setInterval(look, 400);
  look();
  setTimeout(function () {
    if (!window.assent || !window.assent.get) clear('The popup did not load. Demo tags end after 30 days; go back to the demo and make a new one.');
  }, 8000);

  function look() {
    if (!window.assent || !window.assent.get) return;
    var now = window.assent.get();
    var key = [now.state, now.receipt, now.gpc].join();
    if (key === shown) return;
    shown = key;
    turn++;
    if (now.gpc) return clear('Your browser sends the Global Privacy Control signal. That is a no: nothing is asked and nothing is recorded, so there is no receipt.');
    if (!now.state) waited = true;
    if (!now.state) return clear('No choice yet. Answer the popup and the receipt appears here.');
    if (!now.receipt) return clear('Your answer holds. Waiting for its receipt…');
    fetchReceipt(now.visitor, turn);
  }

  // On a small screen the receipt lies below the page that the visitor was looking at.
  function bringIntoView() {
    if (panel.getBoundingClientRect().top < window.innerHeight * 0.6) return;
    var calm = window.matchMedia('(prefers-reduced-motion: reduce)').matches;
    panel.scrollIntoView({ block: 'start', behavior: calm ? 'auto' : 'smooth' });
  }

  async function fetchReceipt(visitor, mine) {
    try {
      var query = '?pixel_id=' + encodeURIComponent(pixel) + '&visitor_id=' + encodeURIComponent(visitor);
      var answer = await fetch('/v1/consent/receipt' + query, { cache: 'no-store', credentials: 'omit' });
      if (mine !== turn) return;
      if (answer.status === 404) return clear('No receipt: nothing is recorded for this visitor.');
      if (!answer.ok) throw new Error('status ' + answer.status);
      var found = await answer.json();
      if (mine !== turn) return;
      current = { receipt: found.receipt, signature: found.signature, signature_alg: found.signature_alg };
      json.textContent = JSON.stringify(current, null, 2);
      sentence.textContent = tell(found.receipt);
      paper.hidden = false;
      if (waited) bringIntoView();
      verify(current.receipt, false);
    } catch (error) {
      if (mine === turn) clear('The receipt could not be fetched. Please reload the page.');
    }
  }

  function clear(words) {
    current = null;
    paper.hidden = true;
    sentence.textContent = words;
  }

  function tell(receipt) {
    var time = receipt.recorded_at.slice(11, 19) + ' UTC';
    if (receipt.consent_state === 'accepted') return 'At ' + time + ' you accepted: ' + receipt.purposes.join(', ') + '.';
    if (receipt.consent_state === 'declined') return 'At ' + time + ' you declined. Nothing is switched on.';
    return 'At ' + time + ' you withdrew your consent. Nothing is switched on.';
  }

  async function verify(receipt, forged) {
    var mine = turn;
    verdict.className = 'verdict';
    verdict.textContent = 'Verifying…';
    try {
      var answer = await fetch('/v1/consent/verify', {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, credentials: 'omit',
        body: JSON.stringify({ receipt: receipt, signature: current.signature })
      });
      if (!answer.ok) throw new Error('status ' + answer.status);
      var valid = (await answer.json()).valid === true;
      if (mine !== turn) return;
      verdict.className = 'verdict ' + (valid ? 'good' : 'bad');
      verdict.textContent = valid
        ? 'Verified: this is what was recorded.'
        : forged ? 'Not genuine: the visitor id was changed by one character, and the signature no longer fits.' : 'Not genuine.';
    } catch (error) {
      if (mine === turn) verdict.textContent = 'The receipt could not be verified just now.';
    }
  }

  document.getElementById('again').addEventListener('click', function () {
    if (window.assent && window.assent.open) window.assent.open();
  });

  document.getElementById('tamper').addEventListener('click', function () {
    if (!current) return;
    var id = current.receipt.visitor_id;
    verify(Object.assign({}, current.receipt, { visitor_id: (id[0] === 'a' ? 'b' : 'a') + id.slice(1) }), true);
  });

  document.getElementById('download').addEventListener('click', function () {
    if (!current) return;
    var link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(current, null, 2) + '\n'], { type: 'application/json' }));
    link.download = 'receipt-' + current.receipt.receipt_id + '.json';
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  });
})();
