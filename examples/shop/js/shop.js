// The shop's page with JavaScript: the cart's form tells what becomes of it, and the buttons
// of the troubles play them here instead of asking the shop to. Everything on the page works
// without this file.
import { followForm } from './cart.js'
import { play, resume } from './play.js'

followForm(document.getElementById('order'), document.getElementById('state'))

document.getElementById('page-only').hidden = false
for (const form of document.querySelectorAll('form[data-scene]')) {
  form.addEventListener('submit', ev => {
    ev.preventDefault()
    play(form.dataset.scene)
  })
}
resume()
