// Puts the reader's own values into the commands of the guide. Nothing is stored or sent.
(function () {
  'use strict';

  var form = document.getElementById('values');
  var places = document.querySelectorAll('[data-fill]');

  places.forEach(function (place) {
    place.setAttribute('data-empty', place.textContent);
  });

  // What stands between the quotes of JSON, inside the single quotes of a shell.
  function quoted(value) {
    return JSON.stringify(value).slice(1, -1).replace(/'/g, "'\\''");
  }

  // Email, name and host stand in JSON. The others also stand in addresses and headers, and are
  // plain words; anything else there was pasted by mistake.
  var asText = ['email', 'name', 'domain'];

  function fill() {
    Array.prototype.forEach.call(form.elements, function (field) {
      var value = field.value ? field.value.trim() : '';
      var fits = asText.indexOf(field.name) >= 0 || /^[\w-]*$/.test(value);
      if (field.name) field.setAttribute('aria-invalid', String(!fits));
      document.querySelectorAll('[data-fill="' + field.name + '"]').forEach(function (place) {
        var shown = fits && value;
        place.textContent = shown ? quoted(value) : place.getAttribute('data-empty');
        place.classList.toggle('filled', Boolean(shown));
      });
    });
  }

  form.addEventListener('input', fill);
  form.addEventListener('submit', function (event) { event.preventDefault(); });
  form.elements.key.type = 'password';
  form.hidden = false;
  // Beside the text where there is room, above it and folded where there is not.
  form.firstElementChild.open = window.matchMedia('(min-width: 64rem)').matches;
  fill();
})();
