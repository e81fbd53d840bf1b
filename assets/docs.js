// Finds routes, chapters and schemas of the API reference by words, and opens what an address names.
(function () {
  'use strict';

  var form = document.getElementById('find');
  var words = document.getElementById('words');
  var count = document.getElementById('find-count');
  var sections = [].map.call(document.querySelectorAll('.docs section'), function (section) {
    var routes = [].map.call(section.querySelectorAll('details.route'), entryOf);
    return { element: section, routes: routes, text: routes.length ? '' : textOf(section) };
  });
  var total = sections.reduce(function (sum, section) { return sum + section.routes.length; }, 0);
  var pending;

  function textOf(element) {
    return element.textContent.toLowerCase();
  }

  function entryOf(element) {
    return { element: element, summary: element.querySelector('summary'), text: textOf(element) };
  }

  function search() {
    var wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    var has = function (text) { return wanted.every(function (word) { return text.indexOf(word) >= 0; }); };
    var found = 0;
    sections.forEach(function (section) {
      var shown = 0;
      section.routes.forEach(function (route) {
        route.element.hidden = !has(route.text);
        if (!route.element.hidden) shown += 1;
      });
      section.element.hidden = section.routes.length ? !shown : !has(section.text);
      found += shown;
    });
    clearTimeout(pending);
    // Spoken once the typing has stopped.
    pending = setTimeout(function () {
      count.textContent = wanted.length ? found + ' of ' + total + ' routes, events and schemas' : '';
    }, 300);
  }

  function shownSummaries() {
    return [].filter.call(document.querySelectorAll('.docs summary'), function (summary) {
      return !summary.closest('[hidden]');
    });
  }

  function move(event) {
    var all = shownSummaries();
    var at = all.indexOf(document.activeElement);
    if (document.activeElement !== words && at < 0) return;
    var next = event.key === 'ArrowDown' ? at + 1 : at - 1;
    if (event.key === 'ArrowUp' && document.activeElement === words) return;
    event.preventDefault();
    (all[next] || (next < 0 ? words : all[at] || words)).focus();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === '/' && !typing) {
      event.preventDefault();
      words.focus();
      words.select();
    } else if (event.key === 'Escape' && words.value) {
      words.value = '';
      search();
      words.focus();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      move(event);
    }
  }

  // What an address names may lie in a closed part, or be hidden by a search.
  function openNamed() {
    var named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    var part = named && named.closest('details');
    if (named && named.closest('[hidden]')) {
      words.value = '';
      search();
    }
    if (!part) return;
    part.open = true;
    part.scrollIntoView();
  }

  form.addEventListener('submit', function (event) {
    event.preventDefault();
    var first = shownSummaries()[0];
    if (!first || !words.value.trim()) return;
    first.parentElement.open = true;
    first.focus();
  });
  words.addEventListener('input', search);
  document.addEventListener('keydown', onKey);
  window.addEventListener('hashchange', openNamed);
  form.hidden = false;
  // A browser that comes back may have kept the words.
  if (words.value) search();
  openNamed();
})();
