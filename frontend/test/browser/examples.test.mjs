// The examples of frontend/examples, bundled as a reader would and pressed.
import assert from 'node:assert/strict'
import { build } from 'esbuild'
import { suite, until } from './browser.mjs'

const run = suite()
const bundle = async contents => {
  const root = new URL('../../', import.meta.url).pathname
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: 'js' }, absWorkingDir: root, bundle: true, format: 'iife', write: false,
    alias: { '@go-idem/idem': root + 'dist/idem.core.min.js' }, define: { 'process.env.NODE_ENV': '"development"' }
  })
  return outputFiles[0].text
}
const open = async (page, s, contents) => {
  s.scripts['/app.js'] = await bundle(contents)
  s.pages['/'] = '<!doctype html><title>shop</title><body><div id="app"></div><script src="/app.js"></script></body>'
  await page.goto(s.url)
}
const thrice = async (page, name) => {
  const box = await page.getByRole('button', { name }).boundingBox()
  for (let i = 0; i < 3; i++) {
    await page.mouse.click(box.x + 5, box.y + 5)
    await page.waitForTimeout(100)
  }
}

run('given the plain example and three clicks, then one POST; without an answer it never says that it failed', async ({ page, s }) => {
  await open(page, s, `import { orderButton } from './examples/fetch.js'
    const button = Object.assign(document.createElement('button'), { textContent: 'Order' }), line = document.createElement('p')
    document.getElementById('app').append(button, line)
    orderButton(button, line, () => new URLSearchParams({ qty: 2 }))`)
  const release = s.hold()
  await thrice(page, 'Order')
  release()
  await page.getByText('order 1').waitFor()
  assert.deepEqual(s.posts.map(p => p.token), ['T1'])
  s.plan = ['503', '503', '503', '503']
  await page.getByRole('button').click()
  await page.getByText('It may have been done').waitFor()
})

run('given the React hook under StrictMode, three clicks, and a component that is unmounted meanwhile, then one POST, and the next one finds it', async ({ page, s }) => {
  await open(page, s, `import { createElement as h, StrictMode, useState } from 'react'
    import { createRoot } from 'react-dom/client'
    import { useIdem } from './examples/react.js'
    function Order() {
      const { state, send } = useIdem({ operation: 'shop:order:create', context: 'cart:42' })
      const [text, setText] = useState('')
      const press = async ev => setText(await (await send('/orders', { method: 'POST', body: new URLSearchParams({ qty: 2 }) }, ev.nativeEvent)).text())
      return h('p', {}, h('button', { onClick: press }, 'Order'), h('b', {}, state), h('i', {}, text))
    }
    function App() {
      const [shown, show] = useState(true)
      return h('div', {}, shown && h(Order), h('button', { onClick: () => show(!shown) }, 'Toggle'))
    }
    createRoot(document.getElementById('app')).render(h(StrictMode, {}, h(App)))`)
  const release = s.hold()
  await thrice(page, 'Order')
  await until(async () => await page.locator('b').innerText() === 'sent', 'it is on its way')
  await page.getByRole('button', { name: 'Toggle' }).click()
  await page.getByRole('button', { name: 'Toggle' }).click()
  assert.equal(await page.locator('b').innerText(), 'sent', 'the new component knows')
  await page.getByRole('button', { name: 'Order' }).click()
  release()
  await page.getByText('order 1').waitFor()
  assert.deepEqual([s.posts.map(p => p.token), s.orders.length], [['T1'], 1])
})
