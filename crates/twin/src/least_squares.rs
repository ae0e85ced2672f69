//! Linear least squares with coefficients of 0 or more, for a handful of columns.

/// Coefficients, one a column, with the least sum of squares of `rows * x - 1`; columns not in `chosen` have 0.
/// `None` where the rows do not determine them, or only with one below 0.
pub(crate) fn solve(rows: &[Vec<f64>], chosen: &[usize]) -> Option<Vec<f64>> {
    let columns = rows.first()?.len();
    let n = chosen.len();
    if rows.len() < n {
        return None;
    }
    // Normal equations. Each column is scaled to length 1, so that bytes and frames weigh alike.
    let length = |column: usize| rows.iter().map(|row| row[column].powi(2)).sum::<f64>().sqrt();
    let lengths: Vec<f64> = chosen.iter().map(|column| length(*column)).collect();
    if lengths.iter().any(|length| *length <= 0.0) {
        return None;
    }
    let mut matrix: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let scaled = |row: &Vec<f64>, k: usize| row[chosen[k]] / lengths[k];
            let product = |j: usize| rows.iter().map(|row| scaled(row, i) * scaled(row, j)).sum();
            let mut line: Vec<f64> = (0..n).map(product).collect();
            line.push(rows.iter().map(|row| scaled(row, i)).sum());
            line
        })
        .collect();
    eliminate(&mut matrix)?;
    let mut solution = vec![0.0; columns];
    for (k, column) in chosen.iter().enumerate() {
        solution[*column] = matrix[k][n] / lengths[k];
    }
    solution.iter().all(|value| *value >= 0.0).then_some(solution)
}

/// Gauss and Jordan with pivots; the last column becomes the solution.
fn eliminate(matrix: &mut [Vec<f64>]) -> Option<()> {
    /// Columns of length 1 that are this close to each other are one.
    const SINGULAR: f64 = 1e-9;
    let n = matrix.len();
    for column in 0..n {
        let by_size =
            |a: &usize, b: &usize| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs());
        let pivot = (column..n).max_by(by_size)?;
        if matrix[pivot][column].abs() < SINGULAR {
            return None;
        }
        matrix.swap(column, pivot);
        let divisor = matrix[column][column];
        matrix[column].iter_mut().for_each(|value| *value /= divisor);
        for row in 0..n {
            if row != column {
                let factor = matrix[row][column];
                let pivot_row = matrix[column].clone();
                matrix[row].iter_mut().zip(&pivot_row).for_each(|(a, b)| *a -= factor * b);
            }
        }
    }
    Some(())
}

/// Every choice of columns, the smaller ones first.
pub(crate) fn choices(columns: usize) -> Vec<Vec<usize>> {
    let of = |bits: u32| (0..columns).filter(|column| bits >> column & 1 == 1).collect::<Vec<_>>();
    let mut all: Vec<Vec<usize>> = (1..1_u32 << columns).map(of).collect();
    all.sort_by_key(Vec::len);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y = 3 a + 2 b, each row divided by its y.
    #[test]
    fn exact_data_give_their_coefficients_and_a_useless_column_none() {
        let rows: Vec<Vec<f64>> = [(1.0, 5.0), (1.0, 50.0), (1.0, 500.0)]
            .map(|(a, b): (f64, f64)| vec![a / (3.0 * a + 2.0 * b), b / (3.0 * a + 2.0 * b)])
            .to_vec();
        let found = solve(&rows, &[0, 1]).unwrap();
        assert!((found[0] - 3.0).abs() < 1e-6 && (found[1] - 2.0).abs() < 1e-9, "{found:?}");
        assert_eq!(solve(&rows, &[0]).unwrap()[1], 0.0);
    }

    #[test]
    fn what_rows_do_not_determine_is_not_made_up() {
        let same = vec![vec![1.0, 2.0], vec![2.0, 4.0]];
        assert_eq!(solve(&same, &[0, 1]), None);
        assert_eq!(solve(&[vec![1.0, 1.0]], &[0, 1]), None);
        // Only a coefficient below 0 would fit.
        let falling = vec![vec![1.0 / 10.0, 1.0 / 10.0], vec![1.0 / 5.0, 10.0 / 5.0]];
        assert_eq!(solve(&falling, &[0, 1]), None);
    }

    #[test]
    fn small_choices_come_first() {
        assert_eq!(choices(2), [vec![0], vec![1], vec![0, 1]]);
        assert_eq!(choices(4).len(), 15);
    }
}
