// Of each card of the page its name and the part of it that its largest empty rectangle takes. Arguments: a screenshot of the
// whole page, a function that takes the answer.
const [picture, answer] = arguments, CELL = 8;
const image = new Image();
image.onload = () => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  answer([...document.querySelectorAll("figure")].map((figure) => {
    const box = figure.getBoundingClientRect(), left = Math.ceil(box.left + scrollX) + 2, top = Math.ceil(box.top + scrollY) + 2;
    const columns = Math.floor((box.width - 4) / CELL), rows = Math.floor((box.height - 4) / CELL);
    const { data } = context.getImageData(left, top, columns * CELL, rows * CELL);
    // The card's own color, in its padding: its corners are round.
    const own = 4 * (Math.floor(rows / 2) * CELL * columns * CELL + 2);
    const empty = (row, column) => {
      for (let y = row * CELL; y < (row + 1) * CELL; y++) {
        for (let x = column * CELL; x < (column + 1) * CELL; x++) {
          const at = 4 * (y * columns * CELL + x);
          if ([0, 1, 2].some((each) => Math.abs(data[at + each] - data[own + each]) > 6)) return false;
        }
      }
      return true;
    };
    let most = 0;
    const heights = new Array(columns).fill(0);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) heights[column] = empty(row, column) ? heights[column] + 1 : 0;
      for (let from = 0; from < columns; from++) {
        let least = Infinity;
        for (let to = from; to < columns && heights[to]; to++) {
          least = Math.min(least, heights[to]);
          most = Math.max(most, least * (to - from + 1));
        }
      }
    }
    return [figure.dataset.name || figure.querySelector("figcaption").textContent, most / (rows * columns)];
  }));
};
image.src = "data:image/png;base64," + picture;
