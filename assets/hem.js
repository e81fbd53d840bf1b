// Finds people by their address, which stays in the browser: only its SHA-256 is sent.
(function () {
  'use strict';
  var field = document.getElementById('by-address');
  // Without a secure context there is no crypto.subtle: then the hash is asked for.
  if (!field || !window.crypto || !crypto.subtle) return;
  var address = document.getElementById('address');
  var hem = document.getElementById('hem');
  var form = hem.form;
  field.hidden = false;
  hem.required = false;

  function hash(text) {
    return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)).then(function (digest) {
      return Array.from(new Uint8Array(digest), function (byte) {
        return byte.toString(16).padStart(2, '0');
      }).join('');
    });
  }

  form.addEventListener('submit', function (event) {
    var text = address.value.trim().toLowerCase();
    if (!text) return;
    event.preventDefault();
    hash(text).then(function (digest) {
      hem.value = digest;
      address.value = '';
      form.submit();
    });
  });
})();
