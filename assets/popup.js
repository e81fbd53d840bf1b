// Beside the form of the popup: the popup itself, anew with every change, and whether its colours can be read.
(function () {
  'use strict';
  var form = document.getElementById('popup-form');
  var panel = document.getElementById('sample');
  if (!form || !panel) return;
  var frame = panel.querySelector('iframe');
  var problem = document.getElementById('sample-problem');
  var contrast = document.getElementById('contrast');
  var texts = Array.prototype.map.call(document.querySelectorAll('#contrast-texts > p'), function (text) { return text.textContent; });
  var controls = panel.querySelectorAll('select');
  var address = panel.dataset.script;
  var key = 'assent:' + panel.dataset.pixel;
  var waiting;
  panel.hidden = false;

  // The popup of the page before may have been answered: it asks again on each.
  function forget() {
    try {
      ['', '-', '+', '?'].forEach(function (end) { localStorage.removeItem(key + end); });
      sessionStorage.removeItem(key);
    } catch (error) { /* Storage that is closed remembers nothing. */ }
  }

  function query() {
    var fields = new URLSearchParams();
    new FormData(form).forEach(function (value, name) {
      if (name !== 'form_token' && value !== '') fields.append(name, String(value).slice(0, 500));
    });
    controls.forEach(function (control) { fields.append(control.name, control.value); });
    return fields.toString();
  }

  function draw() {
    forget();
    panel.dataset.width = panel.querySelector('[name=sample_width]').value;
    panel.dataset.scheme = panel.querySelector('[name=sample_scheme]').value;
    var script = document.createElement('script');
    script.src = address + '?' + query();
    script.setAttribute('async', '');
    var css = document.querySelector('link[href="/assets/console.css"]').outerHTML;
    var lines = '<p></p>'.repeat(9);
    frame.srcdoc = '<!doctype html><html lang="en" class="mock" data-scheme="' + panel.dataset.scheme + '"><title>' + frame.title + '</title>' +
      css + script.outerHTML + '<body><i></i>' + lines + '</body></html>';
  }

  frame.addEventListener('load', function () {
    var page = frame.contentDocument;
    problem.textContent = (page && page.documentElement.dataset.problem) || '';
    problem.hidden = !problem.textContent;
  });

  // --- contrast, as the service judges it (WCAG 2.2, 1.4.3) ---

  function light(color) {
    return [1, 3, 5].reduce(function (sum, at, index) {
      var part = parseInt(color.slice(at, at + 2), 16) / 255;
      var linear = part <= 0.04045 ? part / 12.92 : Math.pow((part + 0.055) / 1.055, 2.4);
      return sum + linear * [0.2126, 0.7152, 0.0722][index];
    }, 0);
  }

  function ratio(first, second) {
    var lights = [light(first), light(second)].sort(function (a, b) { return b - a; });
    return (lights[0] + 0.05) / (lights[1] + 0.05);
  }

  function judge() {
    var found = [];
    ['light', 'dark'].forEach(function (scheme) {
      var own = form.elements['own_' + scheme];
      if (!own.checked) return;
      var field = function (name) { return form.elements[scheme + '_' + name]; };
      [['text', 'background'], ['link', 'background'], ['button_text', 'button']].forEach(function (pair) {
        var is = ratio(field(pair[0]).value, field(pair[1]).value);
        if (is >= 4.5) return;
        var names = [own.closest('[role=group]').getAttribute('aria-label'), field(pair[0]).labels[0].textContent.trim()];
        found.push(names.join(': ') + ' ' + (Math.floor(is * 10) / 10).toFixed(1) + ' : 1');
      });
    });
    var words = found.length
      ? texts[0] + ' ' + found.join('; ') + '. ' + texts[1]
      : form.elements.own_light.checked || form.elements.own_dark.checked ? texts[2] : '';
    // Announced once, not with every step of a colour.
    if (contrast.textContent !== words) contrast.textContent = words;
    contrast.className = found.length ? 'wrong' : 'hint';
  }

  function change(event) {
    // Whoever chooses a colour means to have it.
    var scheme = event.target.type === 'color' && event.target.name.split('_')[0];
    if (scheme) form.elements['own_' + scheme].checked = true;
    judge();
    clearTimeout(waiting);
    waiting = setTimeout(draw, 350);
  }

  form.addEventListener('input', change);
  controls.forEach(function (control) { control.addEventListener('change', draw); });
  judge();
  draw();
})();
